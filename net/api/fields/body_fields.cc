#include "weft/net/api/fields/body_fields.h"

#include <algorithm>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/body_defaults.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

ApiError invalid_json(simdjson::error_code code, std::string_view text) {
  std::string what = "the body is not valid JSON: ";
  what += simdjson::error_message(code);
  if (code == simdjson::UTF8_ERROR) {
    what += " (at byte " + std::to_string(valid_utf8_prefix(text)) + ")";
  }
  return bad_field({}, what, api_code::kInvalidJson);
}

}  // namespace

ApiResult<dom::object> BodyParser::parse(std::string_view text) {
  trim();
  simdjson::error_code code = simdjson::SUCCESS;
  if (parser_.capacity() < text.size() || parser_.max_depth() != kMaxDepth) {
    code = parser_.allocate(std::max(text.size(), defaults::kSmallestBody), kMaxDepth);
  }
  dom::element root;
  if (code == simdjson::SUCCESS) code = parser_.parse(text.data(), text.size()).get(root);
  if (code == simdjson::MEMALLOC) return api_error_of({CoreErrc::kMailboxFull, {}});
  if (code != simdjson::SUCCESS) return invalid_json(code, text);
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    return bad_field({}, "the body must be a JSON object", api_code::kInvalidType);
  }
  return object;
}

void BodyParser::trim() {
  if (parser_.capacity() > defaults::kKeptBody) parser_ = dom::parser();
}

BodyParser& ParsedBody::parser() noexcept {
  thread_local BodyParser parser;
  return parser;
}

ApiError BodyWords::unknown(std::string_view path) {
  ApiError error = bad_field({}, "unknown parameter: " + shown(path), api_code::kUnknown);
  error.param = shown_path(path);
  return error;
}

}  // namespace weft
