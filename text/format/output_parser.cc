#include "weft/text/format/output_parser.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/text/format/output_reader.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {

namespace {

std::unique_ptr<OutputParser::Reader> make_reader(const std::shared_ptr<const OutputFormat>& format,
                                                  const ParserOptions& options) {
  return format->harmony ? make_harmony_reader(options) : make_tag_reader(format, options);
}

}  // namespace

OutputParser::OutputParser(const std::shared_ptr<const OutputFormat>& format, ParserOptions options)
    : reader_(make_reader(format, options)) {
  if (!options.begun.empty()) pass(options.begun, make_reader(format, options));
}

OutputParser::OutputParser(OutputParser&&) noexcept = default;
OutputParser& OutputParser::operator=(OutputParser&&) noexcept = default;
OutputParser::~OutputParser() = default;

void OutputParser::feed(std::string_view text, TypedText& out) {
  if (!begun_) return reader_->feed(text, out);
  TypedText fresh;
  reader_->feed(text, fresh);
  tell(fresh, out);
}

void OutputParser::finish(TypedText& out) {
  if (!begun_) return reader_->finish(out);
  TypedText fresh;
  reader_->finish(fresh);
  tell(fresh, out);
}

/// Brings the reader behind what has begun. `other`, which reads the same and ends there, says what
/// the reader holds back.
void OutputParser::pass(std::string_view begun, std::unique_ptr<Reader> other) {
  TypedText told;
  reader_->feed(begun, told);
  TypedText whole;
  other->feed(begun, whole);
  other->finish(whole);
  BegunOutput& left = begun_.emplace();
  left.held = whole.text().substr(told.text().size());
  if (!whole.marks().empty()) left.held_kind = whole.marks().back().kind;
  for_each_piece(told.text(), told.marks(), [&](OutputPiece piece) {
    if (piece.kind == PieceKind::kCallName) left.open_call.clear();
    if (piece.kind == PieceKind::kCallName || piece.kind == PieceKind::kArguments) {
      left.open_call.add(piece.kind, piece.text);
    } else if (piece.kind == PieceKind::kCallEnd) {
      left.open_call.clear();
      ++calls_before_;
    }
  });
}

/// Passes on what is new, without the text that was held back of what had begun: it comes first, if
/// it comes.
void OutputParser::tell(const TypedText& fresh, TypedText& out) {
  if (fresh.empty()) return;
  BegunOutput& left = *begun_;
  out.append(left.open_call);
  left.open_call.clear();
  for_each_piece(fresh.text(), fresh.marks(), [&](OutputPiece piece) {
    const std::size_t size = std::min(piece.text.size(), left.held.size());
    const bool is_held = size > 0 && piece.kind == left.held_kind &&
                         left.held.starts_with(piece.text.substr(0, size));
    if (is_held) {
      left.held.erase(0, size);
      piece.text.remove_prefix(size);
      if (piece.text.empty()) return;
    }
    left.held.clear();
    out.add(piece.kind, piece.text);
  });
  if (left.held.empty()) begun_.reset();
}

bool OutputParser::done() const noexcept { return reader_->done(); }
bool OutputParser::thinks() const noexcept { return reader_->thinks(); }
std::int32_t OutputParser::calls() const noexcept { return reader_->calls() - calls_before_; }

bool ends_in_thought(std::string_view prompt, const OutputFormat& format) {
  while (!prompt.empty() && is_markup_space(prompt.back())) prompt.remove_suffix(1);
  return format.thoughts.any() && !format.thoughts.open.empty() &&
         prompt.ends_with(format.thoughts.open);
}

}  // namespace weft
