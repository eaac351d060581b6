#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The meaning of the names and functions in an expression.
class ExpressionScope {
 public:
  virtual ~ExpressionScope() = default;

  /// Returns the value of `name` ("hidden_size", "rope_scaling.factor"), null if there is none.
  [[nodiscard]] virtual const boost::json::value* find(std::string_view name) const = 0;

  /// Whether the config states `name` at all, even as null: null may mean "none", while a missing
  /// field means a default.
  [[nodiscard]] virtual bool states(std::string_view name) const = 0;

  /// Returns the shape of a tensor of the checkpoint, outermost first; empty if there is none.
  [[nodiscard]] virtual std::vector<std::int64_t> shape_of(std::string_view tensor) const = 0;

  /// Returns the numbers of a short vector of the checkpoint as a list, or one number for a tensor
  /// without dimensions; null if there is none.
  [[nodiscard]] virtual Result<boost::json::value> numbers_of(std::string_view tensor) const = 0;
};

/// How a spec computes a value from the fields of a model's config.json, parsed once:
///
///   hidden_size / num_attention_heads
///   num_key_value_heads ?? num_attention_heads
///   layer_types[layer] == 'sliding_attention' ? sliding_window : 0
///
/// From the loosest: `c ? a : b`; `a ?? b` (b when a is missing or null); `or`; `and`; `not`;
/// `== != < <= > >= in`; `+ -`; `* / // %`; unary `-`; `**`; `a[i]`. Values are numbers, strings in
/// single quotes, true, false, null, lists `[a, b]`, names, and the functions sqrt, log, floor,
/// ceil, round, min, max, len, int, pick (an element of a list, or what is no list), given (whether
/// the config states a field), has, rows, columns, numbers (of a tensor by name). A missing name is
/// null; computing with null is an error that names it.
/// `/` gives an integer when it divides evenly. Nesting is bounded. Immutable; evaluation is
/// thread-safe.
class Expression {
 public:
  /// kBadSpec with the column if it cannot be parsed.
  [[nodiscard]] static Result<Expression> parse(std::string_view text);

  /// kBadConfig if a field is missing or of the wrong type.
  [[nodiscard]] Result<boost::json::value> evaluate(const ExpressionScope& scope) const;

  /// Returns its names with their values in `scope`, for messages: "a = 1, b = null".
  [[nodiscard]] std::string names_with_values(const ExpressionScope& scope) const;

  struct Node;

 private:
  explicit Expression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

  std::shared_ptr<const Node> root_;
};

}  // namespace weft
