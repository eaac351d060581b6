#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/measure/load/load.h"

namespace weft::measure {

/// The API of a server that is asked.
enum class ServerApi : std::uint8_t {
  kCompletions,  ///< /v1/completions, over SSE
  kChat,         ///< /v1/chat/completions, over SSE
  kResponses,    ///< /v1/responses, over WebSockets
};
[[nodiscard]] std::string_view to_string(ServerApi api) noexcept;
/// The path of the API's endpoint.
[[nodiscard]] std::string_view path_of(ServerApi api) noexcept;

/// A prompt or messages, as the JSON of the API's field.
struct GivenPrompt {
  std::string json{};
  bool messages = false;  ///< a conversation, not a text
};

/// Reads prompts from the text of a file. Where its first line begins with "{", each line is a JSON
/// object with a "prompt" or "messages"; otherwise each line is a prompt. Empty lines are left out.
/// kBadLoad names `name` and the line.
[[nodiscard]] Result<std::vector<GivenPrompt>> parse_prompts(std::string_view text,
                                                             const std::string& name);

/// The settings of a server's requests.
struct QuestionOptions {
  ServerApi api = ServerApi::kCompletions;
  std::string model{};     ///< "" = the request has no model
  bool ignore_eos = true;  ///< outputs have exactly the requested length, not at most
  /// The prompts to ask, in turn, whatever lengths the load has. Without prompts they are drawn.
  /// For kCompletions they are token ids of exactly the requested number. For the other APIs they
  /// are words of mostly one token, to which the chat template adds its own tokens.
  std::vector<GivenPrompt> prompts{};
  /// The range of drawn ids, both ends included. In vocabularies of a few hundred tokens or more
  /// these are plain text, because special tokens lie below or far above.
  std::int32_t lowest_id = 300;
  std::int32_t highest_id = 999;
  std::uint64_t seed = 0;
  /// Fields that every request gets; they replace fields of the same name.
  boost::json::object extra{};
};

/// kBadLoad when the prompts are not for the API.
[[nodiscard]] Result<void> check_prompts(const QuestionOptions& options);

/// Makes the requests of a load. The same options give the same requests. Owner only.
class QuestionWriter {
 public:
  explicit QuestionWriter(QuestionOptions options);

  /// Returns the body of the next request; for kResponses it is a message for the stream
  /// `stream_id`.
  [[nodiscard]] std::string next(const Arrival& asked, std::string_view stream_id = {});
  /// Whether prompts have exactly the requested lengths.
  [[nodiscard]] bool exact() const noexcept;
  [[nodiscard]] const QuestionOptions& options() const noexcept { return options_; }

 private:
  void append_prompt(std::int32_t tokens, std::string& out);
  void append_ids(std::int32_t count, std::string& out);
  void append_words(std::int32_t count, std::string& out);

  const QuestionOptions options_;
  const std::string tail_;  // the fields that all requests share
  std::mt19937_64 random_;
  std::size_t asked_ = 0;
};

/// Returns the message that cancels the response in a stream of a WebSocket.
[[nodiscard]] std::string cancel_message(std::string_view stream_id);

}  // namespace weft::measure
