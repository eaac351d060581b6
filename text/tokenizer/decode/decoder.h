#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/text/tokenizer/normalize/normalizer.h"

namespace weft {

/// Characters of the byte alphabet become bytes and these UTF-8; all is one text from here on. A
/// token with a character that is not in the alphabet stands for itself.
struct ByteLevelDecoderStep {};
/// Byte tokens ("<0x0A>") become bytes: a run of them the text that it encodes, or a U+FFFD each
/// when that is not UTF-8.
struct ByteFallbackStep {};
/// All is one text from here on.
struct FuseStep {};
/// Removes `content` up to `start` and `stop` times from the ends of each token.
struct StripDecoderStep {
  std::string content;
  std::size_t start = 0;
  std::size_t stop = 0;
};
/// The replacement character becomes a space; in the first token nothing when `drop_first`.
struct MetaspaceDecoderStep {
  std::string replacement;
  bool drop_first = true;
};
/// A space goes before each token that does not continue a word; `cleanup` takes spaces away
/// before punctuation and English contractions.
struct WordPieceDecoderStep {
  std::string prefix;
  bool cleanup = true;
};
/// The suffix of a word's last token becomes a space.
struct BpeDecoderStep {
  std::string suffix;
};
/// Repeated tokens become one, `pad` is dropped, `delimiter` is a space (Graves et al. 2006).
struct CtcStep {
  std::string pad;
  std::string delimiter;
  bool cleanup = true;
};
/// A space between tokens: what decoding without a decoder does.
struct JoinStep {};

using DecoderStep =
    std::variant<ReplaceStep, ByteLevelDecoderStep, ByteFallbackStep, FuseStep, StripDecoderStep,
                 MetaspaceDecoderStep, WordPieceDecoderStep, BpeDecoderStep, CtcStep, JoinStep>;

/// The decoder of a tokenizer: steps in order, nested sequences laid flat. Thread-safe.
class Decoder {
 public:
  Decoder() : Decoder(std::vector<DecoderStep>{JoinStep{}}) {}
  explicit Decoder(std::vector<DecoderStep> steps) : steps_(std::move(steps)) {}

  [[nodiscard]] const std::vector<DecoderStep>& steps() const noexcept { return steps_; }

 private:
  std::vector<DecoderStep> steps_;
};

/// One step of a running decoder. Text arrives in parts, each token is closed by end_token(), all
/// by finish(); settled text goes on to the next stage at once. Owner only.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;

  virtual void text(std::string_view part) = 0;
  virtual void end_token() = 0;
  /// A token ends this many bytes behind the text so far; these bytes may still be to come.
  virtual void boundary(std::size_t ahead) = 0;
  virtual void finish() = 0;

  /// Text of earlier tokens went before, so the stage does not treat the next token as the first.
  /// `one_text`: the stages before this one make all tokens one text.
  virtual void go_on(bool /*one_text*/) {}
};

/// Decodes one sequence token by token. Borrows the decoder, which must outlive it. Owner only.
class DecodeStream {
 public:
  explicit DecodeStream(const Decoder& decoder);

  /// To be called before the first token: the text goes on where another text ended.
  void go_on();

  /// Adds one token, as the vocabulary writes it.
  void push(std::string_view token);

  /// A token of the sequence ends here. take_ends() returns the end's place in the text; a token
  /// that is left out of the text may be marked without being pushed.
  void mark_end();

  /// No more tokens come.
  void finish();

  /// Appends the ends of marked tokens that are known and were not taken before, as offsets in the
  /// whole text. An end may lie in text that is still to come.
  void take_ends(std::vector<std::size_t>& ends);

  /// Returns the text that has become final since the last call.
  [[nodiscard]] std::string take();

  /// The same, appended to `out`; allocates nothing where `out` has room.
  void take(std::string& out);

 private:
  struct Out {
    std::string text;
    std::vector<std::size_t> ends;
  };
  std::unique_ptr<Out> out_;  ///< Where the last stage writes; stays put when moved.
  std::vector<std::unique_ptr<DecodeStage>> stages_;  ///< The last one first.
  std::vector<bool> one_text_;  ///< For each stage but the last: its input is one text.
};

}  // namespace weft
