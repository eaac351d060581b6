#include "weft/net/api/fields/body_fields.h"

#include <algorithm>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/duplicate_keys.h"
#include "weft/net/api/fields/large_number.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Which simdjson would pass over: no JSON text may have one (RFC 8259, section 8.1).
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

ApiError invalid_json(simdjson::error_code code, std::string_view text) {
  if (code == simdjson::NUMBER_ERROR) {
    if (const auto path = number_beyond_64_bits(text)) {
      return bad_field(shown_path(*path), "is a number beyond 64 bits");
    }
  }
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
  if (text.starts_with(kByteOrderMark)) {
    return bad_field({}, "the body begins with a byte order mark, which JSON may not",
                     api_code::kInvalidJson);
  }
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
  if (const auto path = duplicate_key(root)) {
    return bad_field(shown_path(*path), "is given twice", api_code::kDuplicate);
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
