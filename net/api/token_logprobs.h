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

/// The tokens of a delta that made one part of its text, as indices [first, last).
struct TokenRun {
  std::size_t first = 0;
  std::size_t last = 0;
};
/// Returns the tokens that made `run`, a part of the delta's text that begins and ends with tokens;
/// some tokens between these may have made no text (TokenText::size is 0).
[[nodiscard]] TokenRun tokens_of(const Delta& delta, std::string_view run) noexcept;
/// Returns the text that one token of the delta made.
[[nodiscard]] std::string_view text_of_token(const Delta& delta, std::size_t token) noexcept;
/// Returns the most probable tokens at a token's position; empty: the request asked for none.
[[nodiscard]] std::span<const TokenLogprob> top_of_token(const Delta& delta,
                                                         std::size_t token) noexcept;

/// Returns "token_id:5", vLLM's name of a token for clients that ask for ids.
[[nodiscard]] std::string token_id_text(TokenId token);

/// Writes the logprobs of tokens in the form of the chat, Responses and Ollama's APIs. Owner only.
class TokenLogprobWriter {
 public:
  explicit TokenLogprobWriter(std::shared_ptr<const ServedModel> model)
      : model_(std::move(model)) {}

  /// Writes token_id_text() as "token" from now on.
  void show_ids() noexcept { shows_ids_ = true; }

  /// Appends one {"token","logprob","bytes","top_logprobs"} for each token that made `run`, a part
  /// of the delta's text, to a list without brackets. Appends nothing when the delta has no
  /// logprobs. "bytes" is the part of the text that the token made, so all "bytes" together are the
  /// run. In "token" a part of a character is U+FFFD. The other tokens in "top_logprobs" have the
  /// text of the token alone, which is empty where the tokenizer does not know the token.
  void append(const Delta& delta, std::string_view run, std::string& out);

 private:
  void append_token(TokenId token, std::string_view bytes, float logprob, std::string& out) const;
  /// Returns the bytes of a token decoded alone; they are valid until the next call.
  [[nodiscard]] std::string_view bytes_of(TokenId token);

  std::shared_ptr<const ServedModel> model_;
  std::string bytes_;  // bytes of one token
  bool shows_ids_ = false;
};

}  // namespace weft
