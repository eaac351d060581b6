#include <algorithm>
#include <array>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/builtins/wordwrap.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"
#include "weft/text/jinja/values/text_ops.h"

/// Filters that lay out text in lines.
namespace weft::jinja {
namespace {

/// Returns the string that the filter applies to; nothing, and the run has failed, when it is none.
const Text* expect_text(Run& run, const Value& self) {
  if (self.text() == nullptr) {
    const Undefined* undefined = self.undefined();
    if (undefined != nullptr) run.fail(undefined_message(*undefined));
    run.fail("expected a string, not '", type_name(self), "'");
  }
  return self.text();
}

std::optional<Value> indention(Run& run, const Slots& slots) {
  if (slots.has(0) && slots[0].text() != nullptr) return slots[0];
  const auto width = slots.integer(run, 0, 4);
  if (!width) return std::nullopt;
  TextBuilder spaces(run);
  spaces.append(static_cast<std::size_t>(std::max<std::int64_t>(*width, 0)), ' ');
  return spaces.finish();
}

Value filter_indent(Run& run, const Value& self, const Slots& slots) {
  const Text* text = expect_text(run, self);
  const auto margin = indention(run, slots);
  if (text == nullptr || !margin || !run.step_read(text->view.size())) return {};
  const std::string_view space = margin->text()->view;
  const bool blank = slots.truth(2, false);
  // Jinja appends a line end and splits, so a line end at the end of the text is kept.
  auto lines = split_lines(run, text->view, false);
  if (run.failed()) return {};
  const bool ends = text->view.empty() || is_line_end(last_utf8(text->view).code);
  if (ends) lines.emplace_back();
  TextBuilder out(run);
  if (slots.truth(1, false)) out.append(space);
  out.append(lines.front());
  for (const std::string_view line : std::span(lines).subspan(1)) {
    out.append("\n");
    if (blank || !line.empty()) out.append(space);
    if (!out.append(line) || !run.step()) break;
  }
  return out.finish(text->markup);
}

Value filter_truncate(Run& run, const Value& self, const Slots& slots) {
  const Text* text = expect_text(run, self);
  const auto limit = slots.integer(run, 0, 255);
  const auto end = slots.text(run, 2, "...");
  const auto leeway = slots.is_none(3) ? std::int64_t{5} : slots.integer(run, 3, 5);
  if (text == nullptr || !limit || !end || !leeway) return {};
  const auto end_size = static_cast<std::int64_t>(count_code_points(*end));
  if (*limit < end_size || *leeway < 0) return run.fail("truncate: the length is too small");
  if (!run.step_scan(2 * text->view.size())) return {};
  const auto size = static_cast<std::int64_t>(count_code_points(text->view));
  if (size - *leeway <= *limit) return self;
  const auto kept = static_cast<std::size_t>(*limit - end_size);
  std::string_view head = text->view.substr(0, code_point_offset(text->view, kept));
  if (!slots.truth(1, false)) head = head.substr(0, head.rfind(' '));
  TextBuilder out(run);
  out.append(head);
  out.append(*end);
  return out.finish(text->markup);
}

Value filter_wordwrap(Run& run, const Value& self, const Slots& slots) {
  const Text* text = expect_text(run, self);
  const auto width = slots.integer(run, 0, 79);
  const auto separator = slots.is_none(2) ? "\n" : slots.text(run, 2, "\n");
  if (text == nullptr || !width || !separator) return {};
  if (*width <= 0) return run.fail("invalid width (must be > 0)");
  const WrapOptions options{static_cast<std::size_t>(*width), slots.truth(1, true),
                            slots.truth(3, true)};
  TextBuilder out(run);
  bool first = true;
  for (const std::string_view line : split_lines(run, text->view, false)) {
    if (!run.step()) break;
    if (!first) out.append(*separator);
    first = false;
    append_wrapped(out, line, options, *separator);
  }
  return out.finish();
}

Value filter_wordcount(Run& run, const Value& self, const Slots& /*slots*/) {
  const Text text = to_text(run, self);
  if (!run.step_read(text.view.size())) return {};
  std::int64_t words = 0;
  bool inside = false;
  for (std::string_view rest = text.view; !rest.empty();) {
    const Utf8Char next = utf8_at(rest);
    const bool word = is_alnum(next.code) || next.code == '_';
    if (word && !inside) ++words;
    inside = word;
    rest.remove_prefix(next.length);
  }
  return words;
}

constexpr std::array kLayoutFilters = {
    Builtin{"indent", filter_indent, 0, {"width", "first", "blank"}},
    Builtin{"truncate", filter_truncate, 0, {"length", "killwords", "end", "leeway"}},
    Builtin{"wordwrap",
            filter_wordwrap,
            0,
            {"width", "break_long_words", "wrapstring", "break_on_hyphens"}},
    Builtin{"wordcount", filter_wordcount, 0, {}},
};

}  // namespace

std::span<const Builtin> layout_filters() { return kLayoutFilters; }

}  // namespace weft::jinja
