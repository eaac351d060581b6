#include "weft/model/checkpoint/quantized/quantization_config.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

char to_lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

const boost::json::value* QuantizationConfig::find(std::string_view key) const noexcept {
  const auto* value = values_.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string QuantizationConfig::about(std::string_view key, std::string_view what) const {
  const auto* value = values_.if_contains(key);
  std::string text = where_ + "." + std::string(key);
  text.append(value == nullptr ? " is absent" : " is " + in_quotes(boost::json::serialize(*value)));
  return text.append(", ").append(what);
}

Error QuantizationConfig::unsupported(std::string_view key, std::string_view what) const {
  return {ModelErrc::kUnsupportedFormat, about(key, what)};
}

Error QuantizationConfig::bad(std::string_view key, std::string_view what) const {
  return {ModelErrc::kBadConfig, about(key, what)};
}

Result<std::optional<std::string>> QuantizationConfig::text(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return bad(key, "which is no text");
  std::string text(value->as_string());
  std::ranges::transform(text, text.begin(), to_lower_case);
  return std::optional(std::move(text));
}

Result<std::optional<std::int64_t>> QuantizationConfig::integer(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  if (!value->is_int64()) return bad(key, "which is no integer");
  return std::optional(value->as_int64());
}

Result<bool> QuantizationConfig::flag(std::string_view key, bool otherwise) const {
  const auto* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_bool()) return bad(key, "which is neither true nor false");
  return value->as_bool();
}

Result<std::optional<std::vector<std::int64_t>>> QuantizationConfig::integers(
    std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::int64_t>>();
  if (!value->is_array()) return bad(key, "which is no array");
  std::vector<std::int64_t> numbers;
  for (const auto& number : value->as_array()) {
    if (!number.is_int64()) return bad(key, "which has what is no integer");
    numbers.push_back(number.as_int64());
  }
  return std::optional(std::move(numbers));
}

Result<void> QuantizationConfig::expect(std::string_view key,
                                        std::initializer_list<std::string_view> known) const {
  const auto value = text(key);
  if (!value) return value.error();
  if (!*value || std::ranges::find(known, **value) != known.end()) return {};
  return unsupported(key, "which is not read");
}

}  // namespace weft
