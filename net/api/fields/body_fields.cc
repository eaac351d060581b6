#include "weft/net/api/fields/body_fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

/// Beyond int64 as well.
bool is_whole(dom::element element) {
  double number = 0;
  return element.is_uint64() ||
         (element.get(number) == simdjson::SUCCESS && std::trunc(number) == number);
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

BodyFields::BodyFields(dom::object object, std::string path) : path_(std::move(path)) {
  for (const dom::key_value_pair field : object) {
    if (fields_.size() == defaults::kMaxFields) {
      fail({}, "has more than " + std::to_string(defaults::kMaxFields) + " fields");
      return;
    }
    fields_.push_back({field.key, field.value});
  }
}

std::string BodyFields::path_of(std::string_view name) const {
  std::string path = path_;
  if (!path.empty() && !name.empty()) path += '.';
  return path.append(name);
}

void BodyFields::fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void BodyFields::fail(std::string_view name, std::string_view what, std::string_view code) {
  fail(bad_field(path_of(name), what, code));
}

std::optional<dom::element> BodyFields::any(std::string_view name) {
  std::optional<dom::element> first;
  for (Field& field : fields_) {
    if (field.name != name) continue;
    field.taken = true;
    if (!first) first = field.value;
  }
  if (error_ || (first && first->is_null())) return std::nullopt;
  return first;
}

template <class T>
std::optional<T> BodyFields::read(std::string_view name, std::string_view type) {
  const auto element = any(name);
  if (!element) return std::nullopt;
  T value{};
  if (element->get(value) == simdjson::SUCCESS) return value;
  fail(name, "must be " + std::string(type), api_code::kInvalidType);
  return std::nullopt;
}

std::optional<std::string_view> BodyFields::text(std::string_view name) {
  return read<std::string_view>(name, "a string");
}

std::optional<bool> BodyFields::flag(std::string_view name) {
  return read<bool>(name, "true or false");
}

std::optional<dom::array> BodyFields::array(std::string_view name) {
  return read<dom::array>(name, "a list");
}

std::optional<dom::object> BodyFields::object(std::string_view name) {
  return read<dom::object>(name, "an object");
}

// simdjson refuses numbers beyond double's range, and JSON has no others that are not finite.
std::optional<double> BodyFields::number(std::string_view name) {
  return read<double>(name, "a number");
}

std::optional<std::int64_t> BodyFields::integer(std::string_view name, std::int64_t low,
                                                std::int64_t high) {
  const auto element = any(name);
  if (!element) return std::nullopt;
  const auto value = whole_number(*element);
  if (value && *value >= low && *value <= high) return value;
  if (!value && !is_whole(*element)) {
    fail(name, "must be a whole number", api_code::kInvalidType);
  } else {
    fail(name, (value ? std::to_string(*value) + " " : std::string()) + "is not in " +
                   std::to_string(low) + " .. " + std::to_string(high));
  }
  return std::nullopt;
}

void BodyFields::ignore(std::initializer_list<std::string_view> names) {
  for (Field& field : fields_) {
    if (std::ranges::find(names, field.name) != names.end()) field.taken = true;
  }
}

std::optional<ApiError> BodyFields::finish() {
  for (const Field& field : fields_) {
    if (error_) break;
    if (field.taken || field.value.is_null()) continue;
    ApiError unknown =
        bad_field({}, "unknown parameter: " + shown(path_of(field.name)), api_code::kUnknown);
    unknown.param = shown_path(path_of(field.name));
    fail(std::move(unknown));
  }
  return error_;
}

std::optional<std::int64_t> whole_number(dom::element element) noexcept {
  std::int64_t whole = 0;
  if (element.get(whole) == simdjson::SUCCESS) return whole;
  double number = 0;
  constexpr double kBound = 9223372036854775808.0;  // 2^63
  const bool fits = element.is_double() && element.get(number) == simdjson::SUCCESS &&
                    number >= -kBound && number < kBound && std::trunc(number) == number;
  if (!fits) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string indexed(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

}  // namespace weft
