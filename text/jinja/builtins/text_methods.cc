#include <algorithm>
#include <array>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/format.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/markup.h"
#include "weft/text/jinja/values/text_ops.h"
#include "weft/text/jinja/values/text_search.h"
#include "weft/text/unicode/unicode.h"

/// Methods of str that return strings and numbers.
namespace weft::jinja {
namespace {

const Text& text_of(const Value& self) { return *self.text(); }

Value method_upper(Run& run, const Value& self, const Slots&) { return upper(run, text_of(self)); }

Value method_lower(Run& run, const Value& self, const Slots&) { return lower(run, text_of(self)); }

Value method_capitalize(Run& run, const Value& self, const Slots&) {
  return capitalize(run, text_of(self));
}

/// Puts the first letter of each run of cased letters into title case, the others into lower case.
Value method_title(Run& run, const Value& self, const Slots&) {
  if (!run.step_read(text_of(self).view.size())) return {};
  TextBuilder out(run);
  bool inside = false;
  for (std::string_view rest = text_of(self).view; !rest.empty();) {
    const Utf8Char next = utf8_at(rest);
    const auto append_case = inside ? append_lower_case : append_title_case;
    if (!out.append_for(rest.substr(0, next.length),
                        [&](std::string& piece) { append_case(piece, next.code); })) {
      break;
    }
    inside = is_cased(next.code);
    rest.remove_prefix(next.length);
  }
  return out.finish(text_of(self).markup);
}

Value method_swapcase(Run& run, const Value& self, const Slots&) {
  if (!run.step_read(text_of(self).view.size())) return {};
  TextBuilder out(run);
  for (std::string_view rest = text_of(self).view; !rest.empty();) {
    const Utf8Char next = utf8_at(rest);
    const auto append_case = is_upper_case(next.code) ? append_lower_case : append_upper_case;
    if (!out.append_for(rest.substr(0, next.length),
                        [&](std::string& piece) { append_case(piece, next.code); })) {
      break;
    }
    rest.remove_prefix(next.length);
  }
  return out.finish(text_of(self).markup);
}

Value method_strip(Run& run, const Value& self, const Slots& slots) {
  return strip(run, text_of(self), Side::kBoth, slots.get(0, None{}));
}

Value method_lstrip(Run& run, const Value& self, const Slots& slots) {
  return strip(run, text_of(self), Side::kLeft, slots.get(0, None{}));
}

Value method_rstrip(Run& run, const Value& self, const Slots& slots) {
  return strip(run, text_of(self), Side::kRight, slots.get(0, None{}));
}

Value method_removeprefix(Run& run, const Value& self, const Slots& slots) {
  const auto prefix = slots.text(run, 0, {});
  Text text = text_of(self);
  if (!prefix || !run.step_scan(prefix->size())) return {};
  if (text.view.starts_with(*prefix)) text.view.remove_prefix(prefix->size());
  return text;
}

Value method_removesuffix(Run& run, const Value& self, const Slots& slots) {
  const auto suffix = slots.text(run, 0, {});
  Text text = text_of(self);
  if (!suffix || !run.step_scan(suffix->size())) return {};
  if (text.view.ends_with(*suffix)) text.view.remove_suffix(suffix->size());
  return text;
}

Value method_replace(Run& run, const Value& self, const Slots& slots) {
  const auto from = slots.text(run, 0, {});
  const auto to = slots.text(run, 1, {});
  const auto most = slots.integer(run, 2, -1);
  if (!from || !to || !most) return {};
  const Text& text = text_of(self);
  const std::size_t count = *most < 0 ? kAllOccurrences : static_cast<std::size_t>(*most);
  if (!text.markup) return replace(run, text.view, *from, *to, count, false);
  TextBuilder escaping(run);
  append_text(escaping, *slots[1].text(), true);
  const Value escaped = escaping.finish();
  return replace(run, text.view, *from, escaped.text()->view, count, true);
}

Value method_join(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, slots[0]);
  if (!items) return {};
  return join_texts(run, text_of(self), items->materialize(run));
}

Value method_format(Run& run, const Value& self, const Slots& slots) {
  return format_braces(run, text_of(self), slots.all());
}

/// Returns the fill character of ljust and similar methods; nothing, and the run has failed, when
/// the argument is none.
std::optional<std::string_view> fill_of(Run& run, const Slots& slots) {
  const auto fill = slots.text(run, 1, " ");
  if (!fill) return std::nullopt;
  if (!fill->empty() && utf8_at(*fill).length == fill->size()) return fill;
  run.fail("The fill character must be exactly one character long");
  return std::nullopt;
}

Value justify(Run& run, const Value& self, const Slots& slots, bool left) {
  const auto width = slots.integer(run, 0, 0);
  const auto fill = fill_of(run, slots);
  if (!width || !fill) return {};
  const Text& text = text_of(self);
  const auto size = static_cast<std::int64_t>(count_code_points(text.view));
  const auto space = static_cast<std::size_t>(std::max<std::int64_t>(*width, size) - size);
  TextBuilder out(run);
  if (!left) out.append_repeated(space, *fill);
  out.append(text.view);
  if (left) out.append_repeated(space, *fill);
  return out.finish(text.markup);
}

Value method_ljust(Run& run, const Value& self, const Slots& slots) {
  return justify(run, self, slots, true);
}

Value method_rjust(Run& run, const Value& self, const Slots& slots) {
  return justify(run, self, slots, false);
}

Value method_center(Run& run, const Value& self, const Slots& slots) {
  const auto width = slots.integer(run, 0, 0);
  const auto fill = fill_of(run, slots);
  if (!width || !fill) return {};
  return center(run, text_of(self), *width, *fill);
}

Value method_zfill(Run& run, const Value& self, const Slots& slots) {
  const auto width = slots.integer(run, 0, 0);
  if (!width) return {};
  std::string_view text = text_of(self).view;
  const auto size = static_cast<std::int64_t>(count_code_points(text));
  TextBuilder out(run);
  if (text.starts_with('-') || text.starts_with('+')) {
    out.append(text.substr(0, 1));
    text.remove_prefix(1);
  }
  out.append(static_cast<std::size_t>(std::max(*width, size) - size), '0');
  out.append(text);
  return out.finish(text_of(self).markup);
}

/// The text between the optional bounds of find and similar methods, and its beginning.
struct Window {
  std::string_view text;
  std::size_t first = 0;  ///< In code points.
  bool valid = true;      ///< False: the bounds leave no position, not even for an empty string.
};

std::int64_t bound(const Value& value, std::int64_t fallback, std::int64_t size) {
  const std::int64_t at = value.integer().value_or(fallback);
  return at < 0 ? std::max<std::int64_t>(at < -size ? 0 : at + size, 0) : at;
}

std::optional<Window> window(Run& run, std::string_view text, const Slots& slots) {
  if (slots.is_none(1) && slots.is_none(2)) return Window{text, 0, true};
  if (!run.step_scan(3 * text.size())) return std::nullopt;
  for (const std::size_t index : {1U, 2U}) {
    if (!slots.is_none(index) && !slots.integer(run, index, 0)) return std::nullopt;
  }
  const auto size = static_cast<std::int64_t>(count_code_points(text));
  const std::int64_t first = bound(slots.get(1, None{}), 0, size);
  const std::int64_t end = std::min(bound(slots.get(2, None{}), size, size), size);
  if (first > end) return Window{{}, 0, false};
  const std::string_view rest =
      text.substr(code_point_offset(text, static_cast<std::size_t>(first)));
  return Window{rest.substr(0, code_point_offset(rest, static_cast<std::size_t>(end - first))),
                static_cast<std::size_t>(first), true};
}

/// Returns the index, in code points, at which the argument is found; else -1.
std::optional<std::int64_t> search(Run& run, const Value& self, const Slots& slots, bool last) {
  const auto part = slots.text(run, 0, {});
  const auto within = window(run, text_of(self).view, slots);
  if (!part || !within || !run.step_read(within->text.size())) return std::nullopt;
  if (!within->valid) return -1;
  const std::size_t at =
      last ? find_last(within->text, *part, run.scratch()) : find(within->text, *part);
  if (at == kNotFound) return -1;
  return static_cast<std::int64_t>(within->first + count_code_points(within->text.substr(0, at)));
}

Value found_at(std::optional<std::int64_t> at) { return at ? Value(*at) : Value(); }

Value found_or_fail(Run& run, std::optional<std::int64_t> at) {
  if (at && *at < 0) return run.fail("substring not found");
  return found_at(at);
}

Value method_find(Run& run, const Value& self, const Slots& slots) {
  return found_at(search(run, self, slots, false));
}

Value method_rfind(Run& run, const Value& self, const Slots& slots) {
  return found_at(search(run, self, slots, true));
}

Value method_index(Run& run, const Value& self, const Slots& slots) {
  return found_or_fail(run, search(run, self, slots, false));
}

Value method_rindex(Run& run, const Value& self, const Slots& slots) {
  return found_or_fail(run, search(run, self, slots, true));
}

Value method_count(Run& run, const Value& self, const Slots& slots) {
  const auto part = slots.text(run, 0, {});
  const auto within = window(run, text_of(self).view, slots);
  if (!part || !within || !run.step_read(within->text.size())) return {};
  if (!within->valid) return std::int64_t{0};
  const std::size_t found =
      part->empty() ? count_code_points(within->text) + 1 : count(within->text, *part);
  return static_cast<std::int64_t>(found);
}

/// startswith and endswith, with one string or a tuple of strings.
Value touches(Run& run, const Value& self, const Slots& slots, bool start) {
  const auto within = window(run, text_of(self).view, slots);
  if (!within) return {};
  const List* list = slots[0].list();
  const bool tuple = list != nullptr && list->is_tuple();
  const std::span<const Value> parts = tuple ? list->items : std::span(&slots[0], 1);
  for (const Value& part : parts) {
    if (part.text() == nullptr) return run.fail("expected a string or a tuple of strings");
    const std::string_view text = part.text()->view;
    if (!run.step_scan(std::min(text.size(), within->text.size()))) return {};
    const bool fits = start ? within->text.starts_with(text) : within->text.ends_with(text);
    if (within->valid && fits) return true;
  }
  return false;
}

Value method_startswith(Run& run, const Value& self, const Slots& slots) {
  return touches(run, self, slots, true);
}

Value method_endswith(Run& run, const Value& self, const Slots& slots) {
  return touches(run, self, slots, false);
}

constexpr std::array kTextMethods = {
    Builtin{"upper", method_upper, 0, {}},
    Builtin{"lower", method_lower, 0, {}},
    Builtin{"casefold", method_lower, 0, {}},
    Builtin{"capitalize", method_capitalize, 0, {}},
    Builtin{"title", method_title, 0, {}},
    Builtin{"swapcase", method_swapcase, 0, {}},
    Builtin{"strip", method_strip, 0, {"<chars>"}},
    Builtin{"lstrip", method_lstrip, 0, {"<chars>"}},
    Builtin{"rstrip", method_rstrip, 0, {"<chars>"}},
    Builtin{"removeprefix", method_removeprefix, 1, {"<prefix>"}},
    Builtin{"removesuffix", method_removesuffix, 1, {"<suffix>"}},
    Builtin{"replace", method_replace, 2, {"<old>", "<new>", "<count>"}},
    Builtin{"join", method_join, 1, {"<iterable>"}},
    Builtin{"format", method_format, kVariadic, {}},
    Builtin{"ljust", method_ljust, 1, {"<width>", "<fillchar>"}},
    Builtin{"rjust", method_rjust, 1, {"<width>", "<fillchar>"}},
    Builtin{"center", method_center, 1, {"<width>", "<fillchar>"}},
    Builtin{"zfill", method_zfill, 1, {"<width>"}},
    Builtin{"find", method_find, 1, {"<sub>", "<start>", "<end>"}},
    Builtin{"rfind", method_rfind, 1, {"<sub>", "<start>", "<end>"}},
    Builtin{"index", method_index, 1, {"<sub>", "<start>", "<end>"}},
    Builtin{"rindex", method_rindex, 1, {"<sub>", "<start>", "<end>"}},
    Builtin{"count", method_count, 1, {"<sub>", "<start>", "<end>"}},
    Builtin{"startswith", method_startswith, 1, {"<prefix>", "<start>", "<end>"}},
    Builtin{"endswith", method_endswith, 1, {"<suffix>", "<start>", "<end>"}},
};

}  // namespace

std::span<const Builtin> text_methods() { return kTextMethods; }

}  // namespace weft::jinja
