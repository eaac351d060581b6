#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/text/format/output_format.h"
#include "weft/text/format/tool_schemas.h"
#include "weft/text/output/output_piece.h"

namespace weft {

/// The facts that a parser needs besides the format. Both pointers are null, or shared and never
/// changed.
struct ParserOptions {
  /// The functions that may be called. Null: there are none, and text that looks like a call is
  /// text.
  std::shared_ptr<const ToolSchemas> tools{};
  bool in_thought = false;  ///< the prompt has opened a thought already
  bool one_call = false;    ///< done() becomes true with the first call
  /// An answer that has begun goes on to the output's end, even if it contains a tag's text.
  bool whole_answer = false;
  /// The part of the output that the prompt already contains, and which the output continues. The
  /// parser passes on nothing from it except a call that it leaves open.
  std::string begun{};
};

/// The state that ParserOptions::begun leaves in an OutputParser.
struct BegunOutput {
  TypedText open_call{};  ///< passed on as a whole
  std::string held{};     ///< begun text that the reader holds back; never passed on
  PieceKind held_kind = PieceKind::kText;
};

/// Splits an output into text, thoughts and calls while it arrives. The result does not depend on
/// how the output is cut into parts, and no part of a tag is ever appended as text. A malformed
/// call is text as long as its name has not been passed on; a call with malformed arguments is a
/// call with these arguments. White space between tags and text is dropped.
///
/// Memory is bounded for any input: only a beginning of a tag, white space, or the head of a call
/// is held back (bounds in output_parser.cc). Each byte is looked at a bounded number of times.
/// Owner only.
class OutputParser {
 public:
  class Reader;

  OutputParser(const std::shared_ptr<const OutputFormat>& format, ParserOptions options);
  OutputParser(OutputParser&&) noexcept;
  OutputParser& operator=(OutputParser&&) noexcept;
  ~OutputParser();

  /// Appends the pieces that `text`, the next part of the output, completes.
  void feed(std::string_view text, TypedText& out);

  /// Ends the output: appends the text that was held back. `cut` means that the model was stopped
  /// before it ended the output itself; a part of a tag and a call without its whole name are then
  /// dropped, otherwise they are text. Called once.
  void finish(TypedText& out, bool cut = false);

  /// Whether the output should end here because of ParserOptions::one_call; later text is dropped.
  [[nodiscard]] bool done() const noexcept;
  /// Whether the next text is a thought, as far as it is known.
  [[nodiscard]] bool thinks() const noexcept;
  /// Returns the number of calls that have begun, without the prompt's complete calls. The last may
  /// lack an end.
  [[nodiscard]] std::int32_t calls() const noexcept;
  /// Whether the last call has begun and not ended. After finish(): whether it was cut off.
  [[nodiscard]] bool in_call() const noexcept;
  /// Returns the offset in the output up to which the kinds of all bytes are known. Text and
  /// thoughts before it have been appended (TypedText::sources); all other bytes before it are
  /// tags, calls or dropped.
  [[nodiscard]] std::size_t settled() const noexcept;

 private:
  void pass(std::string_view begun, std::unique_ptr<Reader> other);
  void tell(const TypedText& fresh, TypedText& out);

  std::unique_ptr<Reader> reader_;
  std::optional<BegunOutput> begun_;
  std::int32_t calls_before_ = 0;  ///< complete calls in the prompt
};

/// Whether a prompt, or its end, has opened a thought and not closed it. The output then begins
/// inside the thought.
[[nodiscard]] bool ends_in_thought(std::string_view prompt, const OutputFormat& format);

}  // namespace weft
