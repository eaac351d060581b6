#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/generation_result.h"

namespace weft {

/// Appends a logprob as a JSON number with a point or an exponent. The lowest is -9999.0, OpenAI's
/// "very unlikely", which stands for -inf too.
void append_logprob(std::string& out, float logprob);

/// Returns "token_id:5", as vLLM calls a token for those who want its id.
[[nodiscard]] std::string token_id_text(TokenId token);

/// Writes the logprobs of tokens as the chat and Responses APIs have them. Owner only.
class TokenLogprobWriter {
 public:
  explicit TokenLogprobWriter(std::shared_ptr<const ServedModel> model)
      : model_(std::move(model)) {}

  /// From now on "token" is token_id_text().
  void show_ids() noexcept { shows_ids_ = true; }

  /// Appends one {"token","logprob","bytes","top_logprobs"} for each token of `delta`, with commas
  /// between them; nothing when it has no logprobs. "bytes" are exact; a part of a character is
  /// U+FFFD in "token". A token that the tokenizer does not know has an empty text.
  void append(const Delta& delta, std::string& out);

 private:
  void append_token(TokenLogprob token, std::string& out);

  std::shared_ptr<const ServedModel> model_;
  std::string bytes_;  // of one token
  bool shows_ids_ = false;
};

}  // namespace weft
