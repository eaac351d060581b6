#pragma once

#include <boost/json/array.hpp>
#include <string>

namespace weft::cli {

/// Makes a conversation of one question; `system` may be empty.
[[nodiscard]] boost::json::array one_question(const std::string& system, const std::string& user);

}  // namespace weft::cli
