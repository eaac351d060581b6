#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

/// The common parts of the methods and filters of strings. The result for a Markup is a Markup.
namespace weft::jinja {

Value upper(Run& run, const Text& text);
Value lower(Run& run, const Text& text);
Value capitalize(Run& run, const Text& text);

enum class Side : std::uint8_t { kLeft, kRight, kBoth };

/// Removes the given characters from the text's ends; white space when `characters` is none.
Value strip(Run& run, const Text& text, Side side, const Value& characters);

inline constexpr std::size_t kAllOccurrences = std::numeric_limits<std::size_t>::max();

/// str.replace(); an empty `from` matches between all characters.
Value replace(Run& run, std::string_view text, std::string_view from, std::string_view to,
              std::size_t most, bool markup);

/// Fills up the text on both sides like str.center().
Value center(Run& run, const Text& text, std::int64_t width, std::string_view fill);

/// Returns the lines of str.splitlines(); only some of them when the run has failed.
[[nodiscard]] std::pmr::vector<std::string_view> split_lines(Run& run, std::string_view text,
                                                             bool keep_ends);

/// Whether the text has a cased character and `question` holds for all its cased characters.
Value all_cased_are(Run& run, std::string_view text, bool (*question)(char32_t code_point));

/// Joins strings, as join() does.
Value join_texts(Run& run, const Text& separator, std::span<const Value> parts);

}  // namespace weft::jinja
