#include "weft/net/api/fields/body_flaw.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/text/json/json_fields.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Objects with up to this many fields, which are nearly all, are compared field by field.
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

/// Whether a value can contain others; the millions of entries of a token list cannot.
bool is_container(dom::element value) {
  const auto type = value.type();
  return type == dom::element_type::ARRAY || type == dom::element_type::OBJECT;
}

/// Joins two paths: "messages" and "[2].role", or "a" and "b", which need a dot between them.
BodyFlaw inside(std::string outer, BodyFlaw flaw) {
  if (!flaw.path.empty() && !flaw.path.starts_with('[')) outer.push_back('.');
  flaw.path = outer.append(flaw.path);
  return flaw;
}

std::optional<BodyFlaw> find_in_list(dom::array list) {
  if (list.size() > defaults::kMaxListEntries) {
    return BodyFlaw{BodyFlaw::Kind::kTooManyEntries, {}};
  }
  std::size_t index = 0;
  for (const dom::element item : list) {
    auto flaw = is_container(item) ? find_flaw(item) : std::nullopt;
    if (flaw) return inside(indexed("", index), *std::move(flaw));
    ++index;
  }
  return std::nullopt;
}

std::optional<BodyFlaw> find_in_object(dom::object object) {
  if (object.size() > defaults::kMaxObjectFields) {
    return BodyFlaw{BodyFlaw::Kind::kTooManyFields, {}};
  }
  if (const auto key = twice_in(object)) {
    return BodyFlaw{BodyFlaw::Kind::kDuplicate, std::string(*key)};
  }
  for (const dom::key_value_pair field : object) {
    auto flaw = is_container(field.value) ? find_flaw(field.value) : std::nullopt;
    if (flaw) return inside(std::string(field.key), *std::move(flaw));
  }
  return std::nullopt;
}

}  // namespace

std::optional<BodyFlaw> find_flaw(dom::element document) {
  dom::array list;
  if (document.get(list) == simdjson::SUCCESS) return find_in_list(list);
  dom::object object;
  if (document.get(object) == simdjson::SUCCESS) return find_in_object(object);
  return std::nullopt;
}

}  // namespace weft
