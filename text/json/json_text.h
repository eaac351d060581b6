#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// The value of a whole JSON text, at most `max_depth` levels deep. When it is none, `problem` says
/// what is wrong and at which byte ("syntax error at byte 6"); else it is left empty.
[[nodiscard]] boost::json::value parse_json(std::string_view text, std::size_t max_depth,
                                            std::string& problem);

}  // namespace weft
