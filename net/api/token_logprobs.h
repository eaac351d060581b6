#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/generation_result.h"
#include "weft/core/token.h"

namespace weft {

/// Appends a logprob as a JSON number with a point or an exponent. The lowest is -9999.0, OpenAI's
/// "very unlikely", which stands for -inf too.
void append_logprob(std::string& out, float logprob);

/// The tokens of a delta that made a run of its text, by their index: [first, last).
struct TokenRun {
  std::size_t first = 0;
  std::size_t last = 0;
};
/// Returns the tokens that made `run`, a part of the delta's text that begins and ends with tokens;
/// tokens among them may have made none of it (TokenText::size is 0).
[[nodiscard]] TokenRun tokens_of(const Delta& delta, std::string_view run) noexcept;
/// Returns what a token of the delta made of its text.
[[nodiscard]] std::string_view text_of_token(const Delta& delta, std::size_t token) noexcept;
/// Returns the most probable tokens at the place of a token; empty: none were asked for.
[[nodiscard]] std::span<const TokenLogprob> top_of_token(const Delta& delta,
                                                         std::size_t token) noexcept;

/// Writes the logprobs of tokens as the chat, Responses and Ollama's APIs have them. Owner only.
class TokenLogprobWriter {
 public:
  explicit TokenLogprobWriter(std::shared_ptr<const ServedModel> model)
      : model_(std::move(model)) {}

  /// Appends one {"token","logprob","bytes","top_logprobs"} for each token that made `run`, a part
  /// of the delta's text, to a list without brackets; nothing when the delta has no logprobs. What
  /// a token made of the text is its "bytes", so put together they are the run; a part of a
  /// character is U+FFFD in "token". Other tokens of "top_logprobs" have the text that they have by
  /// themselves, and an empty one where the tokenizer does not know them.
  void append(const Delta& delta, std::string_view run, std::string& out);

 private:
  static void append_token(std::string_view bytes, float logprob, std::string& out);
  /// Returns the bytes of a token by itself, until the next call.
  [[nodiscard]] std::string_view bytes_of(TokenId token);

  std::shared_ptr<const ServedModel> model_;
  std::string bytes_;  // of one token
};

}  // namespace weft
