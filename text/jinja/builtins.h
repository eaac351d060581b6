#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

/// Filters, tests, methods and global functions: one row each in the table of its file.
namespace weft::jinja {

struct Keyword {
  std::string_view name;
  Value value;
};

struct Arguments {
  std::span<const Value> positional;
  std::span<const Keyword> keywords;
};

/// Returns the keyword of that name; null when there is none.
[[nodiscard]] const Keyword* find_keyword(Run& run, const Arguments& arguments,
                                          std::string_view name);

inline constexpr std::size_t kMaxParameters = 5;

/// The arguments of one call in the order of the parameters.
class Slots {
 public:
  explicit Slots(const Arguments& all) : all_(all) {}

  void set(std::size_t index, const Value* value) { slots_[index] = value; }
  [[nodiscard]] bool has(std::size_t index) const { return slots_[index] != nullptr; }
  /// Whether the argument was not given, or given as none.
  [[nodiscard]] bool is_none(std::size_t index) const {
    return !has(index) || slots_[index]->is_none();
  }
  /// The argument, which must have been given.
  [[nodiscard]] const Value& operator[](std::size_t index) const { return *slots_[index]; }
  [[nodiscard]] Value get(std::size_t index, const Value& fallback) const {
    return has(index) ? *slots_[index] : fallback;
  }
  /// The integer; nothing, and the run has failed, when the argument is not one.
  [[nodiscard]] std::optional<std::int64_t> integer(Run& run, std::size_t index,
                                                    std::int64_t fallback) const;
  /// The string; nothing, and the run has failed, when the argument is not one.
  [[nodiscard]] std::optional<std::string_view> text(Run& run, std::size_t index,
                                                     std::string_view fallback) const;
  [[nodiscard]] bool truth(std::size_t index, bool fallback) const;

  /// Returns the arguments as they were given, for builtins that take any number.
  [[nodiscard]] const Arguments& all() const { return all_; }

 private:
  std::array<const Value*, kMaxParameters> slots_{};
  const Arguments& all_;
};

/// The value of `required` for a builtin that takes any arguments and reads them from Slots::all().
inline constexpr std::size_t kVariadic = std::numeric_limits<std::size_t>::max();

struct Builtin {
  std::string_view name;
  Value (*function)(Run& run, const Value& self, const Slots& slots);
  std::size_t required = 0;
  /// A name in <> is only for messages: that argument has no keyword.
  std::array<std::string_view, kMaxParameters> parameters{};
};

/// Orders the arguments and calls the builtin. The run fails when there are too many or too few
/// arguments, or unknown names.
Value call(Run& run, const Builtin& builtin, const Value& self, const Arguments& arguments);

/// Returns null when there is none.
[[nodiscard]] const Builtin* find_filter(std::string_view name);
[[nodiscard]] const Builtin* find_test(std::string_view name);
[[nodiscard]] const Builtin* find_global(std::string_view name);
[[nodiscard]] const Builtin* find_method(const Value& self, std::string_view name);
/// Whether Python has a method of this name that changes the value.
[[nodiscard]] bool is_mutator(const Value& self, std::string_view name);

/// The tables, one a file.
[[nodiscard]] std::span<const Builtin> text_filters();
[[nodiscard]] std::span<const Builtin> layout_filters();
[[nodiscard]] std::span<const Builtin> number_filters();
[[nodiscard]] std::span<const Builtin> sequence_filters();
[[nodiscard]] std::span<const Builtin> selection_filters();
[[nodiscard]] std::span<const Builtin> order_filters();
[[nodiscard]] std::span<const Builtin> json_filters();
[[nodiscard]] std::span<const Builtin> tests();
[[nodiscard]] std::span<const Builtin> globals();
[[nodiscard]] std::span<const Builtin> text_methods();
[[nodiscard]] std::span<const Builtin> text_question_methods();
[[nodiscard]] std::span<const Builtin> split_methods();
[[nodiscard]] std::span<const Builtin> list_methods();
[[nodiscard]] std::span<const Builtin> dict_methods();

}  // namespace weft::jinja
