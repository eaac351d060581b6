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

/// Aligns an output's text with its tokens: release() gives text together with exactly the
/// tokens that made it, whatever the detokenizer, the stop strings and the parser hold back. A
/// token waits until the kind of all its bytes is known; text waits for its last token. Used for
/// outputs with logprobs. Buffers keep their room. Owner only.
class AlignedOutput {
 public:
  /// Adds a sampled token; every token has the same number of entries in `top`.
  void add(TokenId token, float logprob, std::span<const TokenLogprob> top);

  /// The ends of the tokens in the output's text, in token order (OutputText::take_ends).
  [[nodiscard]] std::vector<std::size_t>& ends() noexcept { return ends_; }

  /// Adds what the parser made of the output's text, up to its byte `settled`.
  void add(const TypedText& typed, std::size_t settled);
  /// Adds text of an output that has no parser.
  void add(std::string_view text);

  /// Puts the complete text and tokens into `delta`, which borrows them until the next call. `all`:
  /// the output has ended, so the rest is put in too.
  void release(bool all, DeltaView& delta);

 private:
  /// A run of the text that waits in text_.
  struct Run {
    PieceKind kind;
    std::size_t size;
    std::size_t source;  // offset in the output; kNoSource: the run is part of a call
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

  // Text and tokens that wait. ends_ has the known ends of these tokens.
  Tokens tokens_;
  std::vector<std::size_t> ends_;
  std::string text_;
  std::vector<Run> runs_;
  std::size_t added_ = 0;     // bytes of the output that came without a parser
  std::size_t settled_ = 0;   // bytes of the output whose kind is known
  std::size_t released_ = 0;  // the end of the last released token

  // The text and tokens of the last release.
  Tokens out_tokens_;
  std::vector<TokenText> out_texts_;
  TypedText out_;
};

}  // namespace weft
