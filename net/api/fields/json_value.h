#pragma once

#include <simdjson.h>

#include <boost/json/value.hpp>

namespace weft {

/// A copy that owns itself, fields in their order; of several with one name the first counts. As
/// deep as what was parsed, so BodyParser bounds its recursion.
[[nodiscard]] boost::json::value to_json(simdjson::dom::element element);

}  // namespace weft
