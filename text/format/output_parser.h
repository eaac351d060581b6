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

/// What a parser must know besides the format. Both pointers are null or shared, never changed.
struct ParserOptions {
  /// The functions that may be called; null: none, and text that looks like a call is text.
  std::shared_ptr<const ToolSchemas> tools{};
  bool in_thought = false;  ///< the prompt has opened a thought already
  bool one_call = false;    ///< done() with the first call
  /// A begun answer goes on to the output's end, even if something looks like a tag in it.
  bool whole_answer = false;
  /// The part of the output that the prompt contains already: the output continues it. The parser
  /// passes on nothing of it except a call that it leaves open.
  std::string begun{};
};

/// The state that ParserOptions::begun leaves in an OutputParser.
struct BegunOutput {
  TypedText open_call{};  ///< passed on as a whole
  std::string held{};     ///< begun text that the reader holds back; never passed on
  PieceKind held_kind = PieceKind::kText;
};

/// Takes an output apart while it comes: text, thoughts and calls. What it appends does not depend
/// on how the output is cut into parts, and no part of a tag is ever appended as text. Malformed
/// calls are text as long as their name has not been told; a call whose arguments are malformed is
/// a call with those arguments. White space between tags and text is dropped.
///
/// Memory is bounded, whatever comes: what is held back is a beginning of a tag, white space, or
/// the head of a call (defaults in output_parser.cc). Each byte is looked at a bounded number of
/// times. Owner only.
class OutputParser {
 public:
  class Reader;

  OutputParser(const std::shared_ptr<const OutputFormat>& format, ParserOptions options);
  OutputParser(OutputParser&&) noexcept;
  OutputParser& operator=(OutputParser&&) noexcept;
  ~OutputParser();

  /// Appends the pieces that `text`, the next part of the output, settles.
  void feed(std::string_view text, TypedText& out);

  /// Ends the output: appends the text that was held back. `cut`: the model was stopped before it
  /// ended the output itself; half of a tag and a call without its whole name are then dropped,
  /// otherwise they are text. Called once.
  void finish(TypedText& out, bool cut = false);

  /// Whether the output shall end here, by ParserOptions::one_call; later text is dropped.
  [[nodiscard]] bool done() const noexcept;
  /// Whether the next text is a thought, as far as that is known.
  [[nodiscard]] bool thinks() const noexcept;
  /// Returns how many calls have begun, without the prompt's whole calls; the last may lack an end.
  [[nodiscard]] std::int32_t calls() const noexcept;
  /// Whether the last call has begun and not ended; after finish(), whether it was cut off.
  [[nodiscard]] bool in_call() const noexcept;
  /// Returns the byte of the output up to which its kind is known: text and thoughts before that
  /// byte have been appended (TypedText::sources), and all other bytes are tags, calls or dropped.
  [[nodiscard]] std::size_t settled() const noexcept;

 private:
  void pass(std::string_view begun, std::unique_ptr<Reader> other);
  void tell(const TypedText& fresh, TypedText& out);

  std::unique_ptr<Reader> reader_;
  std::optional<BegunOutput> begun_;
  std::int32_t calls_before_ = 0;  ///< calls that the prompt has whole
};

/// Whether a prompt, or the end of it, has opened a thought that it has not closed: then the output
/// begins in the middle of it.
[[nodiscard]] bool ends_in_thought(std::string_view prompt, const OutputFormat& format);

}  // namespace weft
