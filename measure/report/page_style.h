#pragma once

#include <string_view>

namespace weft::measure {

/// The CSS of a report's page without that of its charts: light, dark and printed.
[[nodiscard]] std::string_view page_style();

}  // namespace weft::measure
