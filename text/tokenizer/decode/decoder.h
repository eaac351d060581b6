#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/text/tokenizer/normalize/normalizer.h"

namespace weft {

/// Turns characters of the byte alphabet into bytes, and these into UTF-8; from here on all tokens
/// are one text. A token with a character outside the alphabet stands for itself.
struct ByteLevelDecoderStep {};
/// Turns byte tokens ("<0x0A>") into bytes. A run of them becomes the text that it encodes, or one
/// U+FFFD for each when it is not UTF-8.
struct ByteFallbackStep {};
/// From here on all tokens are one text.
struct FuseStep {};
/// Removes `content` up to `start` and `stop` times from the ends of each token.
struct StripDecoderStep {
  std::string content;
  std::size_t start = 0;
  std::size_t stop = 0;
};
/// Turns the replacement character into a space; in the first token it is dropped when
/// `drop_first`.
struct MetaspaceDecoderStep {
  std::string replacement;
  bool drop_first = true;
};
/// Puts a space before each token that does not continue a word; `cleanup` removes spaces before
/// punctuation and English contractions.
struct WordPieceDecoderStep {
  std::string prefix;
  bool cleanup = true;
};
/// Turns the suffix of a word's last token into a space.
struct BpeDecoderStep {
  std::string suffix;
};
/// Merges repeated tokens, drops `pad`, and turns `delimiter` into a space (Graves et al. 2006).
struct CtcStep {
  std::string pad;
  std::string delimiter;
  bool cleanup = true;
};
/// Puts a space between tokens, as decoding without a decoder does.
struct JoinStep {};

using DecoderStep =
    std::variant<ReplaceStep, ByteLevelDecoderStep, ByteFallbackStep, FuseStep, StripDecoderStep,
                 MetaspaceDecoderStep, WordPieceDecoderStep, BpeDecoderStep, CtcStep, JoinStep>;

/// The decoder of a tokenizer: its steps in order; nested sequences are flattened. Thread-safe.
class Decoder {
 public:
  Decoder() : Decoder(std::vector<DecoderStep>{JoinStep{}}) {}
  explicit Decoder(std::vector<DecoderStep> steps) : steps_(std::move(steps)) {}

  [[nodiscard]] const std::vector<DecoderStep>& steps() const noexcept { return steps_; }

 private:
  std::vector<DecoderStep> steps_;
};

/// One step of a running decoder. Text arrives in parts, end_token() ends each token, and finish()
/// ends the sequence; settled text goes to the next stage at once. Owner only.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;

  virtual void text(std::string_view part) = 0;
  virtual void end_token() = 0;
  /// Reports that a token ends this many bytes after the text so far; these bytes may still be to
  /// come.
  virtual void boundary(std::size_t ahead) = 0;
  virtual void finish() = 0;

  /// Says that text of earlier tokens precedes, so that the stage does not treat the next token as
  /// the first. `one_text`: the earlier stages join all tokens to one text.
  virtual void go_on(bool /*one_text*/) {}
};

/// Decodes one sequence token by token. Borrows the decoder, which must outlive it. Owner only.
class DecodeStream {
 public:
  explicit DecodeStream(const Decoder& decoder);

  /// Called before the first token when the text continues another text.
  void go_on();

  /// Adds one token, in the vocabulary's spelling.
  void push(std::string_view token);

  /// Marks the end of a token. take_ends() returns the end's place in the text. A token that is
  /// left out of the text may be marked without being pushed.
  void mark_end();

  /// Ends the sequence.
  void finish();

  /// Appends the newly known ends of marked tokens, as offsets in the whole text. An end may lie in
  /// text that is still to come.
  void take_ends(std::vector<std::size_t>& ends);

  /// Returns the text that has become final since the last call.
  [[nodiscard]] std::string take();

  /// Appends that text to `out`; allocates nothing where `out` has room.
  void take(std::string& out);

 private:
  struct Out {
    std::string text;
    std::vector<std::size_t> ends;
  };
  std::unique_ptr<Out> out_;  ///< Target of the last stage; it stays in place when this object is
                              ///< moved.
  std::vector<std::unique_ptr<DecodeStage>> stages_;  ///< The last stage comes first.
  std::vector<bool> one_text_;  ///< For each stage but the last: its input is one text.
};

}  // namespace weft
