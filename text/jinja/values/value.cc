#include "weft/text/jinja/values/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace weft::jinja {
namespace {

/// The most keys for which a linear search is as fast as a tree.
constexpr std::size_t kLookThrough = 12;

/// Returns a rank by kind. Kinds whose values may be equal have the same rank.
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

template <class T>
int order_of(const T& left, const T& right) {
  if (std::less<>{}(left, right)) return -1;
  return std::less<>{}(right, left) ? 1 : 0;
}

/// NaN is ordered after all numbers, so that the order is total.
int order_of_numbers(const Value& left, const Value& right) {
  const long double a = exact_number(left);
  const long double b = exact_number(right);
  if (std::isnan(a) || std::isnan(b)) return order_of(std::isnan(a), std::isnan(b));
  return order_of(a, b);
}

int order_of_items(std::span<const Value> left, std::span<const Value> right) {
  const std::size_t both = std::min(left.size(), right.size());
  for (std::size_t at = 0; at < both; ++at) {
    if (const int order = key_order(left[at], right[at]); order != 0) return order;
  }
  return order_of(left.size(), right.size());
}

}  // namespace

long double exact_number(const Value& number) {
  if (const auto integer = number.integer()) return static_cast<long double>(*integer);
  return static_cast<long double>(*number.real());
}

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

int key_order(const Value& left, const Value& right) {
  if (rank(left) != rank(right)) return order_of(rank(left), rank(right));
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return 0;
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kFloat:
      return order_of_numbers(left, right);
    case Kind::kText:
      return left.text()->view.compare(right.text()->view);
    case Kind::kList:
      return order_of_items(left.list()->items, right.list()->items);
    case Kind::kDict:
      return order_of(left.dict(), right.dict());
    case Kind::kRange:
      return order_of(left.range(), right.range());
    case Kind::kView:
      return order_of(left.view(), right.view());
    case Kind::kIterator:
      return order_of(left.iterator(), right.iterator());
    case Kind::kObject:
      return order_of(left.object(), right.object());
  }
  return 0;
}

std::optional<std::size_t> Dict::position(const Value& key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    return found->second;
  }
  for (std::size_t at = 0; at < entries_.size(); ++at) {
    if (key_order(entries_[at].key, key) == 0) return at;
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
