#include "weft/text/jinja/values/text_ops.h"

#include <algorithm>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/markup.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/text_search.h"
#include "weft/text/unicode/unicode.h"

namespace weft::jinja {
namespace {

using AppendCase = void (*)(std::string& out, char32_t code_point);

/// Changes the first character by `first`, the others by `others`.
Value recase(Run& run, const Text& text, AppendCase first, AppendCase others) {
  if (!run.step_read(text.view.size())) return {};
  TextBuilder out(run);
  AppendCase append = first;
  for (std::string_view rest = text.view; !rest.empty();) {
    const Utf8Char next = utf8_at(rest);
    if (!out.append_for(rest.substr(0, next.length),
                        [&](std::string& piece) { append(piece, next.code); })) {
      break;
    }
    append = others;
    rest.remove_prefix(next.length);
  }
  return out.finish(text.markup);
}

/// The cost of sorting or looking up a character, relative to reading it.
constexpr std::size_t kSetCost = 8;

/// A set of characters with look-ups in log time, because it may be as long as the text.
class CharacterSet {
 public:
  CharacterSet(std::string_view characters, std::pmr::memory_resource* scratch) : sorted_(scratch) {
    while (!characters.empty()) {
      const Utf8Char next = utf8_at(characters);
      sorted_.push_back(next.code);
      characters.remove_prefix(next.length);
    }
    std::ranges::sort(sorted_);
  }

  [[nodiscard]] bool has(char32_t code_point) const {
    return std::ranges::binary_search(sorted_, code_point);
  }

 private:
  std::pmr::vector<char32_t> sorted_;
};

std::string_view strip_set(std::string_view text, Side side, const CharacterSet& set) {
  while (side != Side::kRight && !text.empty()) {
    const Utf8Char first = utf8_at(text);
    if (!set.has(first.code)) break;
    text.remove_prefix(first.length);
  }
  while (side != Side::kLeft && !text.empty()) {
    const Utf8Char last = last_utf8(text);
    if (!set.has(last.code)) break;
    text.remove_suffix(last.length);
  }
  return text;
}

void replace_between(TextBuilder& out, std::string_view text, std::string_view to,
                     std::size_t most) {
  while (most != 0 && out.append(to)) {
    --most;
    if (text.empty()) return;
    const std::size_t bytes = utf8_at(text).length;
    out.append(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  out.append(text);
}

}  // namespace

Value upper(Run& run, const Text& text) {
  return recase(run, text, append_upper_case, append_upper_case);
}

Value lower(Run& run, const Text& text) {
  return recase(run, text, append_lower_case, append_lower_case);
}

Value capitalize(Run& run, const Text& text) {
  return recase(run, text, append_title_case, append_lower_case);
}

Value strip(Run& run, const Text& text, Side side, const Value& characters) {
  // Only removed characters are read, which are few in most texts.
  std::string_view view = text.view;
  if (characters.is_none()) {
    if (side != Side::kRight) view = trim_left(view);
    if (side != Side::kLeft) view = trim_right(view);
    return run.step_read(text.view.size() - view.size()) ? Text{view, text.markup} : Value();
  }
  const Text* set = characters.text();
  if (set == nullptr) return run.fail("strip arg must be None or str");
  if (!run.step_read(kSetCost * set->view.size())) return {};
  view = strip_set(view, side, CharacterSet(set->view, run.scratch()));
  return run.step_read(kSetCost * (text.view.size() - view.size())) ? Text{view, text.markup}
                                                                    : Value();
}

Value replace(Run& run, std::string_view text, std::string_view from, std::string_view to,
              std::size_t most, bool markup) {
  if (!run.step_read(text.size())) return {};
  TextBuilder out(run);
  if (from.empty()) {
    replace_between(out, text, to, most);
    return out.finish(markup);
  }
  std::size_t at = 0;
  for (std::size_t found = find(text, from); found != kNotFound && most != 0;
       found = find(text, from, at)) {
    out.append(text.substr(at, found - at));
    if (!out.append(to)) return {};
    at = found + from.size();
    --most;
  }
  out.append(text.substr(at));
  return out.finish(markup);
}

Value center(Run& run, const Text& text, std::int64_t width, std::string_view fill) {
  if (!run.step_scan(text.view.size())) return {};
  const auto size = static_cast<std::int64_t>(count_code_points(text.view));
  if (width <= size) return text;
  // CPython puts the odd character on the left when the width is odd.
  const std::int64_t space = width - size;
  const std::int64_t left = space / 2 + (space & width & 1);
  TextBuilder out(run);
  out.append_repeated(static_cast<std::size_t>(left), fill);
  out.append(text.view);
  out.append_repeated(static_cast<std::size_t>(space - left), fill);
  return out.finish(text.markup);
}

std::pmr::vector<std::string_view> split_lines(Run& run, std::string_view text, bool keep_ends) {
  std::pmr::vector<std::string_view> lines(run.scratch());
  if (!run.step_read(text.size())) return lines;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size() && !run.failed();) {
    const Utf8Char next = utf8_at(text.substr(at));
    if (!is_line_end(next.code)) {
      at += next.length;
      continue;
    }
    const std::size_t end = at + (text.substr(at).starts_with("\r\n") ? 2 : next.length);
    lines.push_back(text.substr(start, (keep_ends ? end : at) - start));
    start = at = end;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

Value join_texts(Run& run, const Text& separator, std::span<const Value> parts) {
  TextBuilder out(run);
  bool first = true;
  for (const Value& part : parts) {
    if (!run.step()) return {};
    const Text* text = part.text();
    if (text == nullptr) {
      return run.fail("join: expected str instance, ", type_name(part), " found");
    }
    if (!first) out.append(separator.view);
    first = false;
    append_text(out, *text, separator.markup);
  }
  return out.finish(separator.markup);
}

Value all_cased_are(Run& run, std::string_view text, bool (*question)(char32_t code_point)) {
  if (!run.step_read(text.size())) return {};
  bool found = false;
  while (!text.empty()) {
    const Utf8Char next = utf8_at(text);
    if (is_cased(next.code)) {
      if (!question(next.code)) return false;
      found = true;
    }
    text.remove_prefix(next.length);
  }
  return found;
}

}  // namespace weft::jinja
