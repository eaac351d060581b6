#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// Returns the value of a whole JSON text, at most `max_depth` levels deep. For a text that is not
/// JSON, `problem` gets the error and its byte ("syntax error at byte 6"); otherwise `problem`
/// stays empty.
[[nodiscard]] boost::json::value parse_json(std::string_view text, std::size_t max_depth,
                                            std::string& problem);

}  // namespace weft
