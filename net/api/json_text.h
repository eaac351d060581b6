#pragma once

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

}  // namespace weft
