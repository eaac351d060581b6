#include <algorithm>
#include <array>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/text_ops.h"
#include "weft/text/jinja/values/text_search.h"

/// Methods of str that return lists.
namespace weft::jinja {
namespace {

using Parts = std::pmr::vector<std::string_view>;

Value finish(Run& run, std::span<const std::string_view> parts, bool markup,
             List::Type type = List::Type::kList) {
  ListBuilder list(run);
  for (const std::string_view part : parts) {
    if (!list.push(Text{part, markup})) break;
  }
  return list.finish(type);
}

Parts split_at(Run& run, std::string_view text, std::string_view separator, std::size_t most) {
  Parts parts(run.scratch());
  std::size_t at = 0;
  while (parts.size() < most) {
    const std::size_t found = find(text, separator, at);
    if (found == kNotFound) break;
    parts.push_back(text.substr(at, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

Parts split_space(Run& run, std::string_view text, std::size_t most) {
  Parts parts(run.scratch());
  text = trim_left(text);
  while (!text.empty()) {
    if (parts.size() == most) {
      parts.push_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const Utf8Char next = utf8_at(text.substr(end));
      if (is_space(next.code)) break;
      end += next.length;
    }
    parts.push_back(text.substr(0, end));
    text = trim_left(text.substr(end));
  }
  return parts;
}

Parts split_space_from_right(Run& run, std::string_view text, std::size_t most) {
  Parts parts(run.scratch());
  text = trim_right(text);
  while (!text.empty()) {
    if (parts.size() == most) {
      parts.push_back(text);
      break;
    }
    std::size_t start = text.size();
    while (start > 0) {
      const Utf8Char last = last_utf8(text.substr(0, start));
      if (is_space(last.code)) break;
      start -= last.length;
    }
    parts.push_back(text.substr(start));
    text = trim_right(text.substr(0, start));
  }
  std::ranges::reverse(parts);
  return parts;
}

/// Searches backwards in reversed copies: forward search is linear, std::string_view::rfind is not.
Parts split_at_from_right(Run& run, std::string_view text, std::string_view separator,
                          std::size_t most) {
  Parts parts(run.scratch());
  const std::pmr::string backwards(text.rbegin(), text.rend(), run.scratch());
  const std::pmr::string separator_backwards(separator.rbegin(), separator.rend(), run.scratch());
  std::size_t at = 0;
  while (parts.size() < most) {
    const std::size_t found = jinja::find(backwards, separator_backwards, at);
    if (found == kNotFound) break;
    parts.push_back(text.substr(text.size() - found, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.substr(0, text.size() - at));
  std::ranges::reverse(parts);
  return parts;
}

Value split(Run& run, const Value& self, const Slots& slots, bool from_right) {
  const auto most = slots.integer(run, 1, -1);
  const Text& text = *self.text();
  if (!most || !run.step_read(text.view.size())) return {};
  const std::size_t count = *most < 0 ? kAllOccurrences : static_cast<std::size_t>(*most);
  if (slots.is_none(0)) {
    return finish(run,
                  from_right ? split_space_from_right(run, text.view, count)
                             : split_space(run, text.view, count),
                  text.markup);
  }
  const auto separator = slots.text(run, 0, {});
  if (!separator) return {};
  if (separator->empty()) return run.fail("empty separator");
  return finish(run,
                from_right ? split_at_from_right(run, text.view, *separator, count)
                           : split_at(run, text.view, *separator, count),
                text.markup);
}

Value method_split(Run& run, const Value& self, const Slots& slots) {
  return split(run, self, slots, false);
}

Value method_rsplit(Run& run, const Value& self, const Slots& slots) {
  return split(run, self, slots, true);
}

Value method_splitlines(Run& run, const Value& self, const Slots& slots) {
  const Text& text = *self.text();
  return finish(run, split_lines(run, text.view, slots.truth(0, false)), text.markup);
}

/// Returns the texts before the separator, the separator, and after it. Without a separator the
/// whole text comes first, or last when the last separator is searched.
Value partition(Run& run, const Value& self, const Slots& slots, bool last) {
  const auto separator = slots.text(run, 0, {});
  const Text& text = *self.text();
  if (!separator || !run.step_read(text.view.size())) return {};
  if (separator->empty()) return run.fail("empty separator");
  const std::size_t at =
      last ? find_last(text.view, *separator, run.scratch()) : find(text.view, *separator);
  std::array<std::string_view, 3> parts{text.view, {}, {}};
  if (at != kNotFound) {
    parts = {text.view.substr(0, at), *separator, text.view.substr(at + separator->size())};
  } else if (last) {
    std::ranges::reverse(parts);
  }
  return finish(run, parts, text.markup, List::Type::kTuple);
}

Value method_partition(Run& run, const Value& self, const Slots& slots) {
  return partition(run, self, slots, false);
}

Value method_rpartition(Run& run, const Value& self, const Slots& slots) {
  return partition(run, self, slots, true);
}

constexpr std::array kSplitMethods = {
    Builtin{"split", method_split, 0, {"sep", "maxsplit"}},
    Builtin{"rsplit", method_rsplit, 0, {"sep", "maxsplit"}},
    Builtin{"splitlines", method_splitlines, 0, {"keepends"}},
    Builtin{"partition", method_partition, 1, {"<sep>"}},
    Builtin{"rpartition", method_rpartition, 1, {"<sep>"}},
};

}  // namespace

std::span<const Builtin> split_methods() { return kSplitMethods; }

}  // namespace weft::jinja
