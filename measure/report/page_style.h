#pragma once

#include <string_view>

namespace weft::measure {

/// The CSS of a report's page without its charts' CSS: light, dark and printed.
[[nodiscard]] std::string_view page_style();

}  // namespace weft::measure
