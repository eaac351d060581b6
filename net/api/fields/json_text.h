#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Appends a text as a JSON string, quotes included. Inputs are UTF-8; each maximal part of what is
/// not becomes one U+FFFD, so that the JSON is valid whatever comes. For what is written for each
/// token; everything else is Boost.JSON's.
void append_json_string(std::string& out, std::string_view utf8);

/// The same of a text that may be absent: null when it is empty.
void append_json_string_or_null(std::string& out, std::string_view utf8);

void append_number(std::string& out, std::int64_t number);

/// A value as people write it: 0.7 and 1.0, where Boost.JSON has 7E-1 and 1E0.
void append_json(std::string& out, const boost::json::value& value);
[[nodiscard]] std::string json_text(const boost::json::value& value);

}  // namespace weft
