#pragma once

#include <string>
#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// str() of a Python float: the shortest digits that read back the same.
[[nodiscard]] std::string print_float(double value);

/// Appends the result of str().
void print(TextBuilder& out, const Value& value);
/// Appends the result of repr(). Fails with kTemplateLimit on values nested deeper than
/// kMaxDataDepth. `depth` is the value's own nesting depth.
void print_repr(TextBuilder& out, const Value& value, std::size_t depth = 0);

/// Returns str() as a string of the rendering; a string is returned unchanged.
[[nodiscard]] Text to_text(Run& run, const Value& value);

}  // namespace weft::jinja
