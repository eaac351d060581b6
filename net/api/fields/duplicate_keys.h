#pragma once

#include <simdjson.h>

#include <optional>
#include <string>

namespace weft {

/// Returns the path of the first field that stands twice in its object ("messages[2].role"), at any
/// depth. Readers differ in which of the two counts, so a proxy that looks into bodies could be
/// shown another one than we read. Recurses as deep as the document, which its parser bounds; time
/// grows with n log n.
[[nodiscard]] std::optional<std::string> duplicate_key(simdjson::dom::element document);

}  // namespace weft
