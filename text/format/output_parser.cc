#include "weft/text/format/output_parser.h"

#include <utility>

#include "weft/text/format/output_reader.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {

OutputParser::OutputParser(std::shared_ptr<const OutputFormat> format, ParserOptions options)
    : reader_(format->harmony ? make_harmony_reader(std::move(options))
                              : make_tag_reader(std::move(format), std::move(options))) {}

OutputParser::OutputParser(OutputParser&&) noexcept = default;
OutputParser& OutputParser::operator=(OutputParser&&) noexcept = default;
OutputParser::~OutputParser() = default;

void OutputParser::feed(std::string_view text, TypedText& out) {
  reader_->note_text(text.size());
  reader_->feed(text, out);
}
void OutputParser::finish(TypedText& out, bool cut) { reader_->finish(out, cut); }
bool OutputParser::done() const noexcept { return reader_->done(); }
bool OutputParser::thinks() const noexcept { return reader_->thinks(); }
std::int32_t OutputParser::calls() const noexcept { return reader_->calls(); }
bool OutputParser::in_call() const noexcept { return reader_->in_call(); }
std::size_t OutputParser::settled() const noexcept { return reader_->settled(); }

bool ends_in_thought(std::string_view prompt, const OutputFormat& format) {
  while (!prompt.empty() && is_markup_space(prompt.back())) prompt.remove_suffix(1);
  return format.thoughts.any() && !format.thoughts.open.empty() &&
         prompt.ends_with(format.thoughts.open);
}

}  // namespace weft
