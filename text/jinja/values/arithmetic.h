#pragma once

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/syntax/ast.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// left op right as Python does it, for numbers, strings and lists; integers have 64 bits, and a
/// result beyond them fails.
Value arithmetic(Run& run, ast::ArithmeticOp op, const Value& left, const Value& right);

/// -value or +value.
Value apply_sign(Run& run, bool negative, const Value& value);

/// round() of a Python float to `digits` decimals: half to even of the exact value.
[[nodiscard]] double round_to(double value, std::int64_t digits);

}  // namespace weft::jinja
