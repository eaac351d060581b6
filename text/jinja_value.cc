#include "weft/text/jinja_value.h"

#include <algorithm>

namespace weft::jinja {
namespace {

/// Up to here looking through is as quick as a tree.
constexpr std::size_t kLookThrough = 12;

/// Kinds whose values may be equal to each other have one rank.
int rank(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kFloat:
      return static_cast<int>(Kind::kInteger);
    default:
      return static_cast<int>(value.kind());
  }
}

/// Exact for every int64 and double on the targets, whose long double has 64 bits of mantissa or
/// more.
long double exact(const Value& value) {
  if (const auto integer = value.integer()) return static_cast<long double>(*integer);
  return static_cast<long double>(*value.real());
}

bool items_less(std::span<const Value> left, std::span<const Value> right) {
  return std::ranges::lexicographical_compare(left, right, KeyLess{});
}

}  // namespace

std::optional<std::int64_t> Value::integer() const {
  if (const bool* value = std::get_if<bool>(&data_)) return *value ? 1 : 0;
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return *value;
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (const double* value = real()) return *value;
  if (const auto value = integer()) return static_cast<double>(*value);
  return std::nullopt;
}

bool KeyLess::operator()(const Value& left, const Value& right) const {
  if (rank(left) != rank(right)) return rank(left) < rank(right);
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kFloat:
      return exact(left) < exact(right);
    case Kind::kText:
      return left.text()->view < right.text()->view;
    case Kind::kList:
      return items_less(left.list()->items, right.list()->items);
    case Kind::kDict:
      return std::less<>{}(left.dict(), right.dict());
    case Kind::kRange:
      return std::less<>{}(left.range(), right.range());
    case Kind::kView:
      return std::less<>{}(left.view(), right.view());
    case Kind::kIterator:
      return std::less<>{}(left.iterator(), right.iterator());
    case Kind::kObject:
      return std::less<>{}(left.object(), right.object());
  }
  return false;
}

std::optional<std::size_t> Dict::position(const Value& key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    return found->second;
  }
  const KeyLess less;
  for (std::size_t at = 0; at < entries_.size(); ++at) {
    const Value& own = entries_[at].key;
    if (!less(own, key) && !less(key, own)) return at;
  }
  return std::nullopt;
}

const Value* Dict::find(const Value& key) const {
  const auto at = position(key);
  return at ? &entries_[*at].value : nullptr;
}

void Dict::set(const Value& key, const Value& value) {
  if (const auto at = position(key)) {
    entries_[*at].value = value;
    return;
  }
  entries_.push_back({key, value});
  if (!index_.empty()) {
    index_.emplace(key, entries_.size() - 1);
  } else if (entries_.size() > kLookThrough) {
    for (std::size_t at = 0; at < entries_.size(); ++at) index_.emplace(entries_[at].key, at);
  }
}

}  // namespace weft::jinja
