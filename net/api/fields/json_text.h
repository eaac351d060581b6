#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Appends a text as a JSON string, quotes included. Each maximal part that is not UTF-8 becomes
/// one U+FFFD, so the JSON is always valid. This function writes the texts of single tokens;
/// Boost.JSON writes all other JSON.
void append_json_string(std::string& out, std::string_view utf8);

/// Appends a JSON string, or null when the text is empty.
void append_json_string_or_null(std::string& out, std::string_view utf8);

void append_number(std::string& out, std::int64_t number);

/// Appends a value with numbers as people write them: 0.7 and 1.0, where Boost.JSON has 7E-1 and
/// 1E0.
void append_json(std::string& out, const boost::json::value& value);
[[nodiscard]] std::string json_text(const boost::json::value& value);

}  // namespace weft
