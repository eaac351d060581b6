#include "weft/net/api/api_error.h"

#include "weft/net/api/json_text.h"

namespace weft {

void append_error(const ApiError& error, std::string& out) {
  out.append("{\"message\":");
  append_json_string(out, error.message);
  out.append(",\"type\":");
  append_json_string(out, error.type);
  out.append(",\"param\":");
  append_json_string_or_null(out, error.param);
  out.append(",\"code\":");
  append_json_string_or_null(out, error.code);
  out.push_back('}');
}

std::string error_body(const ApiError& error) {
  std::string body = "{\"error\":";
  append_error(error, body);
  body.push_back('}');
  return body;
}

}  // namespace weft
