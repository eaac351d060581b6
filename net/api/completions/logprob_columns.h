#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/prompt_logprobs.h"

namespace weft {

/// The logprobs of tokens as text completions have them: an array each for tokens, token_logprobs,
/// top_logprobs and text_offset. Token texts that are parts of characters are written
/// "bytes:\xE2\x82". Owner only.
class LogprobColumns {
 public:
  /// The first token begins `offset` characters into its text. With `with_top` each token's
  /// top_logprobs has the token itself beside the most probable ones; else it is null.
  LogprobColumns(std::shared_ptr<const ServedModel> model, std::size_t offset, bool with_top)
      : model_(std::move(model)), offset_(offset), with_top_(with_top) {}

  /// Names tokens by their ids from now on (token_id_text()).
  void show_ids() noexcept { shows_ids_ = true; }

  /// Appends the tokens of `delta`, each with the part of the text that it made, which may be
  /// empty; returns whether there are any.
  bool add(const Delta& delta);
  /// Appends the tokens of a prompt that stands at the beginning of the text, with the `top` most
  /// probable tokens for each; the first token has null for both. `has_special`: the text shows
  /// special tokens. Later offsets begin behind the prompt's text, which has `end` characters.
  void add_prompt(const PromptLogprobs& prompt, std::size_t top, bool has_special, std::size_t end);
  /// Appends {"tokens":[...],"token_logprobs":[...],"top_logprobs":[...],"text_offset":[...]} to
  /// `out`.
  void append_to(std::string& out) const;
  /// Forgets the tokens, but keeps the offset in the text.
  void clear() noexcept;

 private:
  [[nodiscard]] std::string text_of(TokenId token);
  [[nodiscard]] std::string name_of(TokenId token, std::string_view bytes) const;
  void begin_token(TokenId token, std::string_view bytes);
  void add_top(std::span<const TokenLogprob> top, TokenId own, float own_logprob);

  std::shared_ptr<const ServedModel> model_;
  std::size_t offset_;
  bool with_top_;
  bool shows_ids_ = false;
  // columns as JSON
  std::string tokens_, token_logprobs_, top_logprobs_, text_offset_;
  // bytes of one token
  std::string bytes_;
  // the token's text, or escaped bytes
  std::string name_;
  // names in one top_logprobs
  std::vector<std::string> names_;
};

}  // namespace weft
