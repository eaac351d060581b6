#pragma once

#include <simdjson.h>

#include <boost/json/value.hpp>

namespace weft {

/// Copies a parsed value and keeps the order of fields; of several fields with one name the first
/// counts. It recurses as deep as the value, which BodyParser bounds.
[[nodiscard]] boost::json::value to_json(simdjson::dom::element element);

}  // namespace weft
