#pragma once

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/syntax/ast.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// Returns left op right as in Python, for numbers, strings and lists. Integers have 64 bits; a
/// larger result fails.
Value arithmetic(Run& run, ast::ArithmeticOp op, const Value& left, const Value& right);

/// -value or +value.
Value apply_sign(Run& run, bool negative, const Value& value);

/// Returns Python's round() of a float to `digits` decimals: half to even of the exact value.
[[nodiscard]] double round_to(double value, std::int64_t digits);

}  // namespace weft::jinja
