#include "weft/net/api/fields/duplicate_keys.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "weft/text/json/json_fields.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Objects of so few fields, as nearly all have, are compared field by field.
constexpr std::size_t kFewFields = 12;

std::optional<std::string_view> twice_among_many(dom::object object) {
  std::vector<std::string_view> keys;
  for (const dom::key_value_pair field : object) keys.push_back(field.key);
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  if (twice == keys.end()) return std::nullopt;
  return *twice;
}

std::optional<std::string_view> twice_in(dom::object object) {
  std::array<std::string_view, kFewFields> keys;
  auto* end = keys.begin();
  for (const dom::key_value_pair field : object) {
    if (end == keys.end()) return twice_among_many(object);
    if (std::find(keys.begin(), end, field.key) != end) return field.key;
    *end++ = field.key;
  }
  return std::nullopt;
}

/// What has others inside of it: lists of tokens have millions of entries that have not.
bool is_container(dom::element value) {
  const auto type = value.type();
  return type == dom::element_type::ARRAY || type == dom::element_type::OBJECT;
}

/// "messages" and "[2].role", or "a" and "b".
std::string joined(std::string outer, const std::string& inner) {
  if (!inner.starts_with('[')) outer.push_back('.');
  return outer.append(inner);
}

}  // namespace

std::optional<std::string> duplicate_key(dom::element document) {
  dom::array list;
  dom::object object;
  if (document.get(list) == simdjson::SUCCESS) {
    std::size_t index = 0;
    for (const dom::element item : list) {
      const auto inner = is_container(item) ? duplicate_key(item) : std::nullopt;
      if (inner) return joined(indexed("", index), *inner);
      ++index;
    }
  } else if (document.get(object) == simdjson::SUCCESS) {
    if (const auto key = twice_in(object)) return std::string(*key);
    for (const dom::key_value_pair field : object) {
      const auto inner = is_container(field.value) ? duplicate_key(field.value) : std::nullopt;
      if (inner) return joined(std::string(field.key), *inner);
    }
  }
  return std::nullopt;
}

}  // namespace weft
