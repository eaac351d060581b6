#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

/// The values of a rendering. They are small and copied freely. The memory behind them belongs to
/// the rendering (run.h), to the template or to the caller's JSON, and lives until the rendering
/// ends. Lists and dicts never change once made, as in Jinja's immutable sandbox.
namespace weft::jinja {

class Dict;
class Iterator;
class Object;
struct List;
struct Range;
struct View;

enum class Kind : std::uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInteger,
  kFloat,
  kText,
  kList,
  kDict,
  kRange,
  kView,
  kIterator,
  kObject,
};

struct None {};

/// A Python str, or a Markup, which escapes every text that is joined to it.
struct Text {
  std::string_view view;
  bool markup = false;
};

/// An undefined value and its reason: a name that is not set, an attribute that `owner` lacks, or a
/// sentence.
struct Undefined {
  enum class Cause : std::uint8_t { kSentence, kName, kAttribute };
  std::string_view text;
  Cause cause = Cause::kSentence;
  Kind owner = Kind::kUndefined;
};

template <class T>
concept ValueAlternative =
    std::same_as<T, Undefined> || std::same_as<T, None> || std::same_as<T, bool> ||
    std::same_as<T, std::int64_t> || std::same_as<T, double> || std::same_as<T, Text> ||
    std::same_as<T, const List*> || std::same_as<T, const Dict*> || std::same_as<T, const Range*> ||
    std::same_as<T, const View*> || std::same_as<T, Iterator*> || std::same_as<T, Object*>;

class Value {
 public:
  Value() = default;
  /// Accepts exactly these types, so that no pointer becomes a bool.
  template <ValueAlternative T>
  Value(T value) : data_(value) {}  // NOLINT(google-explicit-constructor): the types are listed

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(data_.index()); }
  [[nodiscard]] bool is_undefined() const { return kind() == Kind::kUndefined; }
  [[nodiscard]] bool is_none() const { return kind() == Kind::kNone; }

  /// Each returns null or nothing when the value is of another kind.
  [[nodiscard]] const Undefined* undefined() const { return std::get_if<Undefined>(&data_); }
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const double* real() const { return std::get_if<double>(&data_); }
  [[nodiscard]] const Text* text() const { return std::get_if<Text>(&data_); }
  [[nodiscard]] const List* list() const { return pointer<const List*>(); }
  [[nodiscard]] const Dict* dict() const { return pointer<const Dict*>(); }
  [[nodiscard]] const Range* range() const { return pointer<const Range*>(); }
  [[nodiscard]] const View* view() const { return pointer<const View*>(); }
  [[nodiscard]] Iterator* iterator() const { return pointer<Iterator*>(); }
  [[nodiscard]] Object* object() const { return pointer<Object*>(); }
  /// A Python int, which a bool is too.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  /// An int or a float.
  [[nodiscard]] std::optional<double> number() const;

 private:
  template <class T>
  [[nodiscard]] T pointer() const {
    const T* place = std::get_if<T>(&data_);
    return place == nullptr ? nullptr : *place;
  }

  std::variant<Undefined, None, bool, std::int64_t, double, Text, const List*, const Dict*,
               const Range*, const View*, Iterator*, Object*>
      data_;
};

/// A list, a tuple, or one of groupby's tuples, whose elements have the names grouper and list.
struct List {
  enum class Type : std::uint8_t { kList, kTuple, kGroup };
  std::span<const Value> items;
  Type type = Type::kList;

  [[nodiscard]] bool is_tuple() const { return type != Type::kList; }
};

/// The numbers start, start + step, ...; there are `size` of them.
struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t size = 0;
  std::int64_t stop = 0;  ///< The bound that was given.

  [[nodiscard]] std::int64_t at(std::int64_t index) const { return start + index * step; }
};

/// The result of keys(), values() or items() of a dict.
struct View {
  enum class Part : std::uint8_t { kKeys, kValues, kItems };
  const Dict* dict = nullptr;
  Part part = Part::kKeys;
};

/// Orders hashable values such that equal keys of Python are equal: 1, 1.0 and true. Negative when
/// `left` comes first, 0 when they are equal. It is a three-way comparison, because two comparisons
/// at each level of nested tuples would double the work with each level.
[[nodiscard]] int key_order(const Value& left, const Value& right);

/// The number of a kBool, kInteger or kFloat. Exact for every int64 and double on the targets,
/// whose long double has 64 bits of mantissa or more.
[[nodiscard]] long double exact_number(const Value& number);

struct KeyLess {
  bool operator()(const Value& left, const Value& right) const {
    return key_order(left, right) < 0;
  }
};

/// Keys with values, in the order of their insertion.
class Dict {
 public:
  struct Entry {
    Value key;
    Value value;
  };
  explicit Dict(std::pmr::memory_resource* memory) : entries_(memory), index_(memory) {}

  /// Adds or replaces; the key is hashable (compare.h).
  void set(const Value& key, const Value& value);
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const { return find(Value(Text{key})); }
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  [[nodiscard]] std::optional<std::size_t> position(const Value& key) const;

  std::pmr::vector<Entry> entries_;
  /// Positions by key, once there are too many keys for a linear search. It is a tree, not a hash
  /// table, because a client chooses the keys and could make them collide.
  std::pmr::map<Value, std::size_t, KeyLess> index_;
};

}  // namespace weft::jinja
