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
  reader_->note_text(text.size());
  if (!begun_) return reader_->feed(text, out);
  TypedText fresh;
  reader_->feed(text, fresh);
  tell(fresh, out);
}

void OutputParser::finish(TypedText& out, bool cut) {
  if (!begun_) return reader_->finish(out, cut);
  TypedText fresh;
  reader_->finish(fresh, cut);
  tell(fresh, out);
}

/// Feeds the begun output to the reader without passing anything on. Offsets count from the
/// output's beginning, and wrap around in the begun part. `other`, an equal reader, is ended after
/// it and so shows the text that the reader holds back.
void OutputParser::pass(std::string_view begun, std::unique_ptr<Reader> other) {
  TypedText told;
  reader_->feed(begun, told);
  TypedText whole;
  other->feed(begun, whole);
  other->finish(whole, false);
  BegunOutput& left = begun_.emplace();
  left.held = whole.text().substr(told.text().size());
  if (!whole.marks().empty()) left.held_kind = whole.marks().back().kind;
  for_each_piece(told.text(), told.marks(), [&](OutputPiece piece) {
    const bool begins = piece.kind == PieceKind::kCallName || piece.kind == PieceKind::kCallId;
    if (begins || piece.kind == PieceKind::kArguments) {
      left.open_call.add(piece.kind, piece.text);
    } else if (piece.kind == PieceKind::kCallEnd) {
      left.open_call.clear();
      ++calls_before_;
    }
  });
}

/// Passes on new text. Text held back from the begun output comes first, if it comes at all, and is
/// left out.
void OutputParser::tell(const TypedText& fresh, TypedText& out) {
  if (fresh.empty()) return;
  BegunOutput& left = *begun_;
  out.append(left.open_call);
  left.open_call.clear();
  auto source = fresh.sources().begin();
  for_each_piece(fresh.text(), fresh.marks(), [&](const OutputPiece& piece) {
    const auto begin = static_cast<std::size_t>(piece.text.data() - fresh.text().data());
    const std::size_t size = std::min(piece.text.size(), left.held.size());
    const bool is_held = size > 0 && piece.kind == left.held_kind &&
                         left.held.starts_with(piece.text.substr(0, size));
    const std::size_t first = begin + (is_held ? size : 0);  // the offset of the new text
    const std::size_t end = begin + piece.text.size();
    if (is_held) left.held.erase(0, size);
    if (is_held && first == end) return;
    left.held.clear();
    if (piece.kind != PieceKind::kText && piece.kind != PieceKind::kReasoning) {
      return out.add(piece.kind, piece.text.substr(first - begin));
    }
    for (; source != fresh.sources().end() && source->begin < end; ++source) {
      const std::size_t from = std::max(source->begin, first);
      const std::size_t to = source->begin + source->size;
      if (from >= to) continue;
      out.add(piece.kind, fresh.text().substr(from, to - from),
              source->source + from - source->begin);
    }
  });
  if (left.held.empty()) begun_.reset();
}

bool OutputParser::done() const noexcept { return reader_->done(); }
bool OutputParser::thinks() const noexcept { return reader_->thinks(); }
std::int32_t OutputParser::calls() const noexcept { return reader_->calls() - calls_before_; }
bool OutputParser::in_call() const noexcept { return reader_->in_call(); }
std::size_t OutputParser::settled() const noexcept {
  const std::size_t settled = reader_->settled();
  return settled <= reader_->fed() ? settled : 0;  // else the offset still lies before the output
}

bool ends_in_thought(std::string_view prompt, const OutputFormat& format) {
  while (!prompt.empty() && is_markup_space(prompt.back())) prompt.remove_suffix(1);
  return format.thoughts.any() && !format.thoughts.open.empty() &&
         prompt.ends_with(format.thoughts.open);
}

}  // namespace weft
