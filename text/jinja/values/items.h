#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// The elements of a value that Python can iterate over, by number. Ranges and dicts are not
/// copied. Cheap to copy; lives as long as the rendering. Owner only.
class Items {
 public:
  /// Returns nothing, and the run has failed, when the value cannot be iterated over. The elements
  /// are the characters of a string, or the keys of a dict; undefined has none; an iterator is
  /// emptied.
  static std::optional<Items> of(Run& run, const Value& value);
  [[nodiscard]] static bool exist(const Value& value);

  explicit Items(std::span<const Value> items) : source_(items) {}
  explicit Items(const Range* range) : source_(range) {}
  explicit Items(View view) : source_(view) {}

  [[nodiscard]] std::size_t size() const;
  /// index < size(). The items of a dict are made when they are requested.
  [[nodiscard]] Value at(Run& run, std::size_t index) const;
  /// The elements from number `first` on.
  [[nodiscard]] std::span<const Value> materialize(Run& run, std::size_t first = 0) const;

 private:
  std::variant<std::span<const Value>, const Range*, View> source_;
};

/// A Python iterator or generator: it is true, has no length, and is used up by its reader. Belongs
/// to a Run's memory.
class Iterator {
 public:
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  /// Returns nothing at the end.
  virtual std::optional<Value> next(Run& run) = 0;
  /// Takes the remaining elements; the iterator is then at its end.
  Items take(Run& run);
  /// Returns how many iterators are chained behind this one. Each takes stack when it is asked.
  [[nodiscard]] std::size_t depth() const { return depth_; }

 protected:
  explicit Iterator(std::size_t depth = 0) : depth_(depth) {}
  ~Iterator() = default;

 private:
  std::size_t depth_;
};

/// Walks elements that exist already.
class ItemsIterator final : public Iterator {
 public:
  explicit ItemsIterator(const Items& items) : items_(items) {}
  std::optional<Value> next(Run& run) override;

 private:
  Items items_;
  std::size_t at_ = 0;
};

/// Returns an iterator over the value; the value itself when it is an iterator. Null, and the run
/// has failed, when the value cannot be iterated over.
[[nodiscard]] Iterator* iterate(Run& run, const Value& value);

/// len() of a value; nothing when Python raises an error.
[[nodiscard]] std::optional<std::size_t> size_of(const Value& value);

}  // namespace weft::jinja
