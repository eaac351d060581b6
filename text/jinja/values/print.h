#pragma once

#include <string>
#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// str() of a Python float: the shortest digits that read back the same.
[[nodiscard]] std::string print_float(double value);

/// What str() gives.
void print(TextBuilder& out, const Value& value);
/// What repr() gives. Fails with kTemplateLimit on values nested deeper than kMaxDataDepth.
/// `depth` is how many values the value is inside of.
void print_repr(TextBuilder& out, const Value& value, std::size_t depth = 0);

/// str() as a string of the rendering; a string stays as it is.
[[nodiscard]] Text to_text(Run& run, const Value& value);

}  // namespace weft::jinja
