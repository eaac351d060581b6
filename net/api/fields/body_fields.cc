#include "weft/net/api/fields/body_fields.h"

#include <algorithm>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/body_flaw.h"
#include "weft/net/api/fields/large_number.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// A byte order mark, which simdjson would skip: JSON must not begin with one (RFC 8259, 8.1).
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

ApiError error_of(const BodyFlaw& flaw) {
  const std::string path = shown_path(flaw.path);
  switch (flaw.kind) {
    case BodyFlaw::Kind::kDuplicate:
      return bad_field(path, "is given twice", api_code::kDuplicate);
    case BodyFlaw::Kind::kTooManyFields:
      return bad_field(path, "an object may have " + std::to_string(defaults::kMaxObjectFields) +
                                 " fields, and this one has more");
    case BodyFlaw::Kind::kTooManyEntries:
      break;
  }
  return bad_field(path, "has more than " + std::to_string(defaults::kMaxListEntries) + " entries");
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
  if (const auto flaw = find_flaw(root)) return error_of(*flaw);
  return object;
}

void BodyParser::trim() {
  if (parser_.capacity() > defaults::kKeptBody) parser_ = dom::parser();
}

BodyParser& ParsedBody::parser() noexcept {
  thread_local BodyParser parser;
  return parser;
}

bool has_at_most(const BodyFields& fields, std::string_view name, dom::array list, std::size_t most,
                 std::string_view what) {
  if (list.size() <= most) return true;
  fields.fail(name, "has more than " + std::to_string(most) + " " + std::string(what));
  return false;
}

ApiError BodyWords::unknown(std::string_view path) {
  ApiError error = bad_field({}, "unknown parameter: " + shown(path), api_code::kUnknown);
  error.param = shown_path(path);
  return error;
}

}  // namespace weft
