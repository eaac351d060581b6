#pragma once

#include <optional>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

/// Truth, equality and order by Python's rules.
namespace weft::jinja {

[[nodiscard]] bool truth(const Value& value);

/// ==. Fails with kTemplateLimit on values nested deeper than kMaxDataDepth.
bool equal(Run& run, const Value& left, const Value& right);

/// <. Fails when Python cannot order the two.
bool less(Run& run, const Value& left, const Value& right);
/// <=, which for lists and NaN differs from "not greater".
bool less_equal(Run& run, const Value& left, const Value& right);

/// `value in container`. Fails when the container cannot be looked into.
bool contains(Run& run, const Value& container, const Value& value);

/// Whether the value can be a key; otherwise the run fails.
bool check_hashable(Run& run, const Value& value);

}  // namespace weft::jinja
