#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// The layout of one value: Python's format specification, into which printf's is converted.
struct FormatSpec {
  std::string_view fill = " ";
  char align = 0;  ///< < > ^ = or 0 for the type's own
  char sign = 0;   ///< + or a space; 0 for a minus only
  bool alternate = false;
  char grouping = 0;  ///< , or _
  std::size_t width = 0;
  std::optional<int> precision;
  char type = 0;
};

/// Appends `text`, cut to the precision and filled to the width.
void format_text(TextBuilder& out, const FormatSpec& spec, std::string_view text);
/// Appends a number in the spec's type: d b o x X c n for integers, e E f F g G % for floats
/// (integers are converted), 0 for the number's default. Returns false, and appends nothing, when
/// the type does not fit.
bool format_number(TextBuilder& out, const FormatSpec& spec, const Value& number);

/// format % arguments: a tuple, a mapping for %(name)s, or one value.
Value format_percent(Run& run, const Text& format, const Value& arguments);
/// format.format(...). Attributes in fields follow the sandbox's rules.
Value format_braces(Run& run, const Text& format, const Arguments& arguments);

}  // namespace weft::jinja
