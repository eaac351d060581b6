#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/text/jinja/run/scope.h"
#include "weft/text/jinja/syntax/ast.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"

namespace weft::jinja {

class Interpreter;

/// The `loop` of a for loop, which also fetches its elements. It fetches them one by one, as Jinja
/// does, because the loop's filter may read values that the body has set.
class Loop final : public Object {
 public:
  /// `size` is the number of elements, when it is known before they are fetched.
  Loop(Interpreter& interpreter, const ast::For& node, const Scope& outer, Iterator& source,
       std::optional<std::size_t> size, std::int64_t depth)
      : interpreter_(interpreter), node_(node), outer_(outer), source_(&source), depth_(depth) {
    if (size) count_ = static_cast<std::int64_t>(*size);
  }

  /// Moves to the next element; returns nothing at the end.
  std::optional<Value> advance(Run& run);

  [[nodiscard]] std::string_view type_name() const override { return "LoopContext"; }
  [[nodiscard]] bool callable() const override { return true; }
  std::optional<Value> attribute(Run& run, std::string_view name) override;
  Value call(Run& run, const Arguments& arguments) override;

  Value cycle(Run& run, std::span<const Value> values) const;
  Value changed(Run& run, std::span<const Value> values);

 private:
  std::optional<Value> fetch(Run& run);
  const std::optional<Value>& peek(Run& run);
  std::int64_t count(Run& run);
  std::optional<Value> position(Run& run, std::string_view name);

  Interpreter& interpreter_;
  const ast::For& node_;
  const Scope& outer_;
  Iterator* source_;
  bool filtered_ = false;  ///< source_ gives only elements that pass the filter.
  std::int64_t depth_;
  std::int64_t index_ = -1;
  std::optional<std::int64_t> count_;  ///< The number of elements, once it is known.
  std::optional<Value> before_;
  std::optional<Value> current_;
  std::optional<Value> after_;
  bool peeked_ = false;
  std::optional<Value> last_changed_;
};

}  // namespace weft::jinja
