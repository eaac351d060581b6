#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/client_text.h"
#include "weft/text/jinja/run.h"
#include "weft/text/jinja/run/output.h"
#include "weft/text/jinja/run/scope.h"
#include "weft/text/jinja/syntax/ast.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// Walks a template's tree once. Owner only; the tree is shared.
class Interpreter {
 public:
  Interpreter(Run& run, const Dict& variables) : run_(run), variables_(variables), output_(run) {}

  /// Returns the prompt; meaningless when the run has failed.
  std::string render(const ast::Block& block);
  /// Returns the parts of the prompt that a client wrote, in their order, after rendering.
  [[nodiscard]] std::span<const ByteRange> client() const { return output_.client(); }
  /// Returns the parts of the prompt that {% generation %} marks, in their order, after rendering.
  [[nodiscard]] std::span<const ByteRange> generated() const { return output_.generated(); }

  /// Called by macros and loops.
  Value call_macro(const ast::Macro& macro, const Scope& closure, const Arguments& arguments);
  Value call_loop(const ast::For& loop, const Scope& outer, const Value& iterable,
                  std::int64_t depth);
  /// Whether a loop's filter lets an element through.
  bool passes(const ast::For& loop, const Scope& outer, const Value& element);

 private:
  enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

  /// One level of the recursion below. Past kMaxEvaluationDepth it is refused, and the run has
  /// failed.
  class Level {
   public:
    explicit Level(Interpreter& interpreter);
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --interpreter_.depth_; }

   private:
    Interpreter& interpreter_;
  };

  Flow run_block(const ast::Block& block, Scope& scope);
  Flow run(const ast::Statement& statement, Scope& scope);
  Flow exec(const ast::Data& node, Scope& scope);
  Flow exec(const ast::Output& node, Scope& scope);
  Flow exec(const ast::Set& node, Scope& scope);
  Flow exec(const ast::SetBlock& node, Scope& scope);
  Flow exec(const ast::If& node, Scope& scope);
  Flow exec(const ast::For& node, Scope& scope);
  Flow exec(const ast::Macro& node, Scope& scope);
  Flow exec(const ast::CallBlock& node, Scope& scope);
  Flow exec(const ast::FilterBlock& node, Scope& scope);
  Flow exec(const ast::With& node, Scope& scope);
  Flow exec(const ast::Generation& node, Scope& scope);
  Flow exec(const ast::Break& node, Scope& scope);
  Flow exec(const ast::Continue& node, Scope& scope);
  Flow run_loop(const ast::For& node, const Scope& scope, const Value& iterable,
                std::int64_t depth);

  void assign(const ast::Target& target, const Value& value, Scope& scope);
  void unpack(const ast::TupleTarget& target, const Value& value, Scope& scope);
  void assign_attribute(const ast::AttributeTarget& target, const Value& value, Scope& scope);
  bool bind_parameters(const ast::Macro& macro, const Arguments& arguments, Scope& scope);
  bool bind_special(const ast::Macro& macro, const Arguments& arguments, Scope& scope);
  Value other_keywords(const ast::Macro& macro, const Arguments& arguments);
  bool check_keywords(const ast::Macro& macro, const Arguments& arguments);

  Value eval(const ast::Expr& expr, const Scope& scope);
  Value eval_or_none(const ast::ExprPtr& expr, const Scope& scope);
  Value visit(const ast::Literal& node, const Scope& scope);
  Value visit(const ast::Name& node, const Scope& scope);
  Value visit(const ast::Sequence& node, const Scope& scope);
  Value visit(const ast::Mapping& node, const Scope& scope);
  Value visit(const ast::Logic& node, const Scope& scope);
  Value visit(const ast::Not& node, const Scope& scope);
  Value visit(const ast::Sign& node, const Scope& scope);
  Value visit(const ast::Arithmetic& node, const Scope& scope);
  Value visit(const ast::Comparison& node, const Scope& scope);
  Value visit(const ast::Concatenation& node, const Scope& scope);
  Value visit(const ast::Conditional& node, const Scope& scope);
  Value visit(const ast::Postfix& node, const Scope& scope);

  Value apply(const ast::PostfixOp& op, const Value& value, const Scope& scope);
  Value apply(const ast::Attribute& op, const Value& value, const Scope& scope);
  Value apply(const ast::Item& op, const Value& value, const Scope& scope);
  Value apply(const ast::Slice& op, const Value& value, const Scope& scope);
  Value apply(const ast::Call& op, const Value& value, const Scope& scope);
  Value apply(const ast::Filter& op, const Value& value, const Scope& scope);
  Value apply(const ast::Test& op, const Value& value, const Scope& scope);
  Value apply_filters(std::span<const ast::PostfixOp> ops, Value value, const Scope& scope);

  /// The evaluated arguments of a call.
  struct Call {
    explicit Call(Run& run) : positional(run.scratch()), keywords(run.scratch()) {}
    std::pmr::vector<Value> positional;
    std::pmr::vector<Keyword> keywords;
    [[nodiscard]] Arguments arguments() const { return {positional, keywords}; }
  };
  bool eval_arguments(const ast::CallArguments& arguments, const Scope& scope, Call& call);
  bool spread_keywords(const Value& value, Call& call);
  Value call_value(const Value& callee, const Arguments& arguments);

  Run& run_;
  const Dict& variables_;
  Output output_;
  std::size_t depth_ = 0;
  std::size_t calls_ = 0;
};

}  // namespace weft::jinja
