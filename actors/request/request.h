#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/request_class.h"
#include "weft/core/time/clock.h"
#include "weft/core/token.h"
#include "weft/gpu/activation_reader.h"
#include "weft/grammar/structured_output.h"
#include "weft/grammar/tool_choice.h"
#include "weft/sampling/sampler.h"
#include "weft/sampling/sampling_params.h"
#include "weft/text/output/output_piece.h"

namespace weft {

class PromptLogprobs;
class PromptTokens;

/// The vector that a request asks for instead of text.
struct VectorWish {
  enum class Kind : std::uint8_t {
    kEmbedding,  ///< a vector of the text's meaning
    kScores,     ///< a classifier's scores, one for each label
    kMaskFills,  ///< tokens for each mask token of the prompt, by a masked language model
  };
  Kind kind = Kind::kEmbedding;
  /// With kMaskFills: how many tokens each mask token gets, the most probable ones; at most
  /// defaults::kMaxMaskFills.
  std::int32_t top_k = 5;
  /// A second text, for cross-encoders, which judge a pair of texts. The prompt must be a text
  /// then.
  std::string second_text{};
  /// How many first numbers of an embedding to return, for models trained by Matryoshka
  /// representation learning; 0 = all.
  std::int32_t dimensions = 0;
  /// Whether an embedding gets length 1; without: as the model's files say.
  std::optional<bool> unit{};
  bool raw_scores = false;  ///< scores before softmax or sigmoid
  /// Tokens to which a longer input is cut, at its end; kAsLong: to as many as the model takes. 0:
  /// a longer input is refused.
  std::int32_t cut_at = 0;
  static constexpr std::int32_t kAsLong = -1;
  /// Tokens to which the text alone is cut first (of a pair: the second text); 0: no such cut.
  std::int32_t text_tokens = 0;
  bool cut_begin = false;  ///< a long input loses its beginning instead of its end
};

/// How an engine that guesses tokens (Config::speculation) may guess those of a request. Outputs
/// are the same whatever it says; SamplingParams::guess_acceptance alone makes guesses change them.
struct SpeculationWish {
  /// kOff: the engine guesses nothing. Else it guesses as its configuration says; if the
  /// configuration says kOff, it guesses only with a prediction.
  std::optional<SpeculationKind> kind{};
  /// Tokens guessed at once, 1 .. kMostTokens, within Config::speculation_max_tokens; 0: as many as
  /// that.
  std::int32_t max_tokens = 0;
  static constexpr std::int32_t kMostTokens = 64;  ///< as of Config::speculation_max_tokens
  /// A text that outputs are predicted to resemble, such as a file that is to be edited; "": none.
  /// Its tokens are looked up for guesses beside the sequence's own (Config::speculation_prediction
  /// says whether). They are no part of the prompt or of Usage::prompt_tokens, but bounds of a
  /// prompt's bytes and of what waits count the text as part of the prompt. A prediction of more
  /// tokens than the context is refused.
  std::string prediction{};
};

/// What a caller asks for. Exactly one of prompt, prompt_tokens and messages is given.
struct Request {
  Request() = default;  // no aggregate: docs/asio-compliance.md says why
  /// Makes a request from a text, its prompt, so that calls can take a text directly:
  /// `engine.async_open("Once upon a time", token)`.
  template <std::convertible_to<std::string> Text>
  // NOLINTNEXTLINE(google-explicit-constructor): a text stands where a request does
  Request(Text&& text) : prompt(std::forward<Text>(text)) {}

  /// The model's name or an alias; "" = the engine's first model. An engine of a single model
  /// ignores it.
  std::string model{};
  /// The name of one of the model's adapters (Config::adapters, Engine::async_load_adapter); "" =
  /// none. The request keeps the content that the name has when its prompt is prepared.
  std::string adapter{};
  std::string prompt{};                  ///< text
  std::vector<TokenId> prompt_tokens{};  ///< or tokens, taken unchanged
  boost::json::array messages{};  ///< or a conversation, for the model's chat template: objects
                                  ///< with "role" and "content"
  /// The functions that the model may call, for the template and to parse calls: a list of {"type":
  /// "function", "function": {"name", "description", "parameters": a JSON schema}}; null: none.
  /// Messages of the assistant may have "tool_calls", [{"id", "type": "function", "function":
  /// {"name", "arguments": an object}}], whose results are messages with the role "tool", a
  /// "tool_call_id" and "content".
  boost::json::value tools{};
  /// With typed_output: whether outputs are calls of these functions, and how strictly these follow
  /// schemas. With a structured_output too, an output is a call or an answer.
  ToolChoice tool_choice{};
  boost::json::object chat_template_kwargs{};
  /// Whether the template ends the prompt with the beginning of an answer.
  bool add_generation_prompt = true;
  /// The model continues the conversation's last message, which is the assistant's, instead of
  /// answering it: an output is the text that follows the message's text.
  bool continue_final_message = false;
  /// Parses each output into thoughts, text and, with tools, calls, in the format of the model's
  /// family. Marks give the kinds, and the family's tags are left out. If the format is not known
  /// (ServedModel::format), an output is only text.
  bool typed_output = false;
  /// With typed_output: false ends an output with its first call.
  bool parallel_tool_calls = true;
  /// With typed_output: ends an output's thoughts after so many tokens; negative: no limit. Unused
  /// for a family without thoughts.
  std::int32_t thinking_budget = -1;

  /// Asks for a vector instead of text; Finish::vector has the result (of masks: Finish::masks).
  /// Engine::async_embed() sets it. Outputs have no text then, and sampling parameters are
  /// ignored.
  std::optional<VectorWish> vector{};

  /// The most tokens of each output; 0 = as many as the context has room for, at most the value of
  /// Config::generation_config.
  std::int32_t max_tokens = 256;
  /// If the context has less room than max_tokens, lowers max_tokens instead of refusing the
  /// request.
  bool clip_max_tokens = false;
  /// If a conversation is too long, leaves out its oldest messages (shortened_conversation.h) to
  /// make room for max_tokens, or for an eighth of the context if that is 0.
  bool drop_oldest_messages = false;
  SamplingParams sampling{};
  /// The form of each output; with typed_output the form of its answer, while thoughts stay free.
  /// Sets SamplingParams::constraint, as do tool_choice and thinking_budget.
  StructuredOutput structured_output{};
  /// For a model with an encoder: the first token that the decoder generates, which names a
  /// translation's language (forced_bos_token_id); it is not part of the output. kNoToken: none, or
  /// the token of Config::generation_config.
  TokenId forced_bos = kNoToken;
  /// Reads hidden states and logits of the request's only sequence; may be null.
  std::shared_ptr<ActivationReader> activation_reader{};
  /// Receives the logprobs of the prompt's tokens (prompt_logprobs.h); may be null. Not for models
  /// with an encoder, and not together with an activation_reader or a vector.
  std::shared_ptr<PromptLogprobs> prompt_logprobs{};
  /// Receives the prompt's tokens (prompt_tokens.h); may be null.
  std::shared_ptr<PromptTokens> prompt_ids{};
  std::vector<std::string> stop{};  ///< texts that end the output and are left out of it
  bool skip_special_tokens = true;  ///< leaves special tokens out of the text
  SpeculationWish speculation{};

  RequestClass request_class = RequestClass::kChat;
  std::int32_t priority = 0;  ///< inside the class; low first
  /// One of many requests that were asked for together: it is prepared by the workers for large
  /// requests (preprocess_pool.h), so that nobody's small request waits for all of them.
  bool bulk = false;
  std::string client{};  ///< who asks: clients share the engine fairly; "" = nobody in particular
  /// Only requests with the same cache_salt share beginnings in the KV cache, within the limits of
  /// Config::cache_share; at most kMaxCacheSaltBytes.
  std::string cache_salt{};
  static constexpr std::size_t kMaxCacheSaltBytes = 256;  ///< a 2048-bit secret
  std::chrono::milliseconds timeout{0};                   ///< from arrival to the end; 0 = none
};

/// How many outputs a request has.
[[nodiscard]] inline std::int32_t output_count(const Request& request) noexcept {
  return request.vector ? 0 : request.sampling.n;
}

/// How a request, or one of its outputs, ended.
enum class FinishReason : std::uint8_t { kStop, kLength, kCancelled, kError };
/// Returns "stop", "length", "cancelled" or "error".
[[nodiscard]] std::string_view to_string(FinishReason reason) noexcept;

/// The bytes of an output's text that one token made. The offset is into one text of that output;
/// offsets grow from token to token. Size 0: the token made no text, e.g. a tag, a call, a skipped
/// special token, white space between a tag and text, or text that a stop string cuts off. A token
/// may make a part of a character. For a token in both a thought and the answer, the bytes are the
/// answer's.
struct TokenText {
  std::size_t begin = 0;
  std::size_t size = 0;

  friend bool operator==(const TokenText&, const TokenText&) = default;
};

/// One output's new text and tokens, borrowed for the call.
struct DeltaView {
  std::int32_t choice = 0;  ///< which output, 0 .. n-1
  std::string_view text{};  ///< valid UTF-8; may be empty, while characters are incomplete
  /// The kinds of the parts of `text`, with Request::typed_output. A run may continue in the next
  /// delta, which then begins with a mark of the same kind.
  std::span<const PieceMark> marks{};
  /// With logprobs, exactly these tokens made `text`; without, `text` may lag behind the
  /// tokens.
  std::span<const TokenId> tokens{};
  std::span<const float> logprobs{};         ///< one for each token; empty unless asked for
  std::span<const TokenText> token_texts{};  ///< with logprobs: the part of `text` of each token
  /// top_per_token entries for each token, most probable first, padded with kNoToken if samplers
  /// left fewer.
  std::span<const TokenLogprob> top{};
  std::int32_t top_per_token = 0;  ///< SamplingParams::top_logprobs
};

struct Usage {
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;  ///< of all outputs, also of outputs that best_of dropped
  /// Prompt tokens that were in the KV cache when the request began.
  std::int32_t cached_tokens = 0;
  std::int32_t reasoning_tokens = 0;  ///< output tokens of thoughts, with Request::typed_output
  std::int32_t accepted_guesses = 0;  ///< guessed tokens in the output (Config::speculation)
  std::int32_t rejected_guesses = 0;  ///< wrongly guessed tokens, not part of the output
};

/// How one output ended.
struct ChoiceEnd {
  FinishReason reason = FinishReason::kStop;
  std::string stop{};             ///< the stop string that was hit
  TokenId stop_token = kNoToken;  ///< or the token
  /// The sum of its tokens' logprobs, or a beam's score; 0 unless logprobs, best_of or beams ask
  /// for it.
  double cumulative_logprob = 0;
  std::int32_t calls = 0;  ///< its number of calls; in a cut output the last call may be incomplete
  bool in_call = false;    ///< the last call lacks its end
};

/// The times of a request's events, on the engine's clock.
struct RequestTimes {
  TimePoint arrived{}, queued{}, started{}, first_token{}, ended{};  ///< zero: never
};

/// A token that a masked language model puts in the place of a mask token.
struct MaskFill {
  TokenId token = kNoToken;
  float score = 0;         ///< its probability
  std::string text{};      ///< the token's own text
  std::string sequence{};  ///< the whole prompt with it; other mask tokens stay
};

/// The one terminal event of a request.
struct Finish {
  FinishReason reason =
      FinishReason::kStop;  ///< of the request: its first output's reason, or why all outputs ended
  Error error{};            ///< with kError and kCancelled: why
  std::vector<ChoiceEnd> choices{};
  std::vector<float> vector{};  ///< of a request with Request::vector that ended with kStop
  /// Instead of `vector`, for VectorWish::Kind::kMaskFills: the tokens for each mask token, most
  /// probable first.
  std::vector<std::vector<MaskFill>> masks{};
  Usage usage{};
  RequestTimes times{};
  std::chrono::milliseconds retry_after{0};  ///< with kOverloaded, kGrammarsFull: when to try again
};

/// Receives a request's outputs. The engine's actors call admit() and deliver() one at a time, and
/// finish() exactly once. An admit() or deliver() by another thread may still come after finish()
/// and must then be dropped. None of them may block: output that waits for the application goes
/// into the sink's own buffers, which max_tokens bounds.
class RequestSink {
 public:
  RequestSink() = default;
  RequestSink(const RequestSink&) = delete;
  RequestSink& operator=(const RequestSink&) = delete;
  virtual ~RequestSink() = default;

  /// The request is valid, its prompt has so many tokens, and the engine has room for it. Called at
  /// most once, before the first deliver(); not called if the request ends earlier.
  virtual void admit(std::int32_t /*prompt_tokens*/) noexcept {}
  /// Schema places that outputs need not follow (Grammar::not_enforced()). Called at most once,
  /// before admit(), and only if there are such places.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): overriding sinks keep the list
  virtual void let_pass(std::shared_ptr<const std::vector<std::string>> /*not_enforced*/) noexcept {
  }
  virtual void deliver(const DeltaView& delta) noexcept = 0;
  /// The terminal event.
  virtual void finish(Finish&& finish) noexcept = 0;
};

}  // namespace weft
