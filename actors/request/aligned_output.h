#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/core/token.h"
#include "weft/sampling/sampler.h"
#include "weft/text/output/output_piece.h"

namespace weft {

/// Puts the text of an output and its tokens together: what release() gives is text and exactly the
/// tokens that made it, whatever the detokenizer, the stop strings and the parser hold back. A
/// token waits until it is known what all of its bytes are, and text waits for its last token. For
/// outputs with logprobs. Buffers keep their room. Owner only.
class AlignedOutput {
 public:
  /// Adds a token that was drawn; every token has as many entries in `top`.
  void add(TokenId token, float logprob, std::span<const TokenLogprob> top);

  /// The ends of the tokens in the output's text, in their order (OutputText::take_ends).
  [[nodiscard]] std::vector<std::size_t>& ends() noexcept { return ends_; }

  /// Adds what the parser has made of the output's text, up to its byte `settled`.
  void add(const TypedText& typed, std::size_t settled);
  /// Adds text where there is no parser.
  void add(std::string_view text);

  /// Puts what is complete into `delta`, which borrows it until the next call; with `all`, because
  /// the output has ended, what is left.
  void release(bool all, DeltaView& delta);

 private:
  /// A run of what waits in text_.
  struct Run {
    PieceKind kind;
    std::size_t size;
    std::size_t source;  // where it stands in the output; kNoSource: it is of a call
  };
  static constexpr auto kNoSource = static_cast<std::size_t>(-1);

  struct Tokens {
    std::vector<TokenId> ids;
    std::vector<float> logprobs;
    std::vector<TokenLogprob> top;

    void move_first(std::size_t count, Tokens& to);
    void clear() noexcept;
  };

  [[nodiscard]] std::size_t complete_tokens() const noexcept;
  /// Whether the text has a character that goes on at this byte of the output.
  [[nodiscard]] bool splits_character(std::size_t end) const noexcept;
  void take_text(std::size_t end);
  [[nodiscard]] TokenText text_of(std::size_t begin, std::size_t end) const noexcept;

  // What waits. ends_ has the ends that are known of its tokens.
  Tokens tokens_;
  std::vector<std::size_t> ends_;
  std::string text_;
  std::vector<Run> runs_;
  std::size_t added_ = 0;     // bytes of the output that came without a parser
  std::size_t settled_ = 0;   // of the output
  std::size_t released_ = 0;  // the end of the last token that was released

  // What was released last.
  Tokens out_tokens_;
  std::vector<TokenText> out_texts_;
  TypedText out_;
};

}  // namespace weft
