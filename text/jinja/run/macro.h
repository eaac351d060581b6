#pragma once

#include <string_view>

#include "weft/text/jinja/run/scope.h"
#include "weft/text/jinja/syntax/ast.h"
#include "weft/text/jinja/values/object.h"

namespace weft::jinja {

class Interpreter;

/// A macro with the scope in which it was defined; also the body of a call block.
class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const ast::Macro& node, const Scope& closure)
      : interpreter_(interpreter), node_(node), closure_(closure) {}

  [[nodiscard]] std::string_view type_name() const override { return "Macro"; }
  void print(TextBuilder& out, std::size_t depth) const override;
  std::optional<Value> attribute(Run& run, std::string_view name) override;
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run& run, const Arguments& arguments) override;

 private:
  Interpreter& interpreter_;
  const ast::Macro& node_;
  const Scope& closure_;
};

}  // namespace weft::jinja
