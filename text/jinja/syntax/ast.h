#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// The tree that a template is parsed into. Plain data; never changed once it is parsed, so that
/// threads can share it. A chain of operators is one node with a list, so that the tree is no
/// deeper than the source is nested.
namespace weft::jinja {

struct Builtin;

namespace ast {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Literal {
  /// monostate: none
  std::variant<std::monostate, bool, std::int64_t, double, std::string> value;
};

struct Name {
  std::string name;
};

/// [a, b] or (a, b)
struct Sequence {
  std::vector<ExprPtr> items;
  bool tuple = false;
};

/// {a: b}
struct Mapping {
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};

/// a and b and c, or a or b or c
struct Logic {
  bool all = false;
  std::vector<ExprPtr> operands;
};

struct Not {
  ExprPtr operand;
};

/// -a or +a
struct Sign {
  bool negative = false;
  ExprPtr operand;
};

enum class ArithmeticOp : std::uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

/// a + b - c: operators of equal precedence, from left to right
struct Arithmetic {
  ExprPtr first;
  std::vector<std::pair<ArithmeticOp, ExprPtr>> rest;
};

enum class CompareOp : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

/// a < b <= c
struct Comparison {
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};

/// a ~ b ~ c
struct Concatenation {
  std::vector<ExprPtr> parts;
};

/// a if test else b; `otherwise` may be null
struct Conditional {
  ExprPtr test;
  ExprPtr then;
  ExprPtr otherwise;
};

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr more_positional;  ///< *args, or null
  ExprPtr more_keywords;    ///< **kwargs, or null
};

/// .name
struct Attribute {
  std::string name;
};

/// [key]
struct Item {
  ExprPtr key;
};

/// [start:stop:step]; each part may be null
struct Slice {
  ExprPtr start;
  ExprPtr stop;
  ExprPtr step;
};

struct Call {
  CallArguments arguments;
};

/// |name(...). `builtin` is null for a filter that does not exist, because Jinja reports it only
/// when it is reached.
struct Filter {
  std::string name;
  const Builtin* builtin = nullptr;
  CallArguments arguments;
};

/// is name(...) or is not name(...)
struct Test {
  std::string name;
  const Builtin* builtin = nullptr;
  CallArguments arguments;
  bool negated = false;
};

struct PostfixOp {
  std::uint32_t line = 0;
  std::variant<Attribute, Item, Slice, Call, Filter, Test> op;
};

/// The operators after an expression, from left to right.
struct Postfix {
  ExprPtr base;
  std::vector<PostfixOp> ops;
};

struct Expr {
  std::uint32_t line = 0;
  std::variant<Literal, Name, Sequence, Mapping, Logic, Not, Sign, Arithmetic, Comparison,
               Concatenation, Conditional, Postfix>
      node;
};

struct Statement;
using Block = std::vector<Statement>;

struct Target;

struct NameTarget {
  std::string name;
};

/// namespace.attribute
struct AttributeTarget {
  std::string object;
  std::string attribute;
};

struct TupleTarget {
  std::vector<Target> items;
};

/// The target of an assignment.
struct Target {
  std::variant<NameTarget, AttributeTarget, TupleTarget> to;
};

/// Text between the tags.
struct Data {
  std::string text;
};

struct Output {
  ExprPtr value;
};

struct Set {
  Target target;
  ExprPtr value;
};

/// {% set x | filter %}...{% endset %}
struct SetBlock {
  Target target;
  std::vector<PostfixOp> filters;
  Block body;
};

struct If {
  std::vector<std::pair<ExprPtr, Block>> branches;
  Block otherwise;
};

struct For {
  Target target;
  ExprPtr iterable;
  ExprPtr filter;  ///< may be null
  Block body;
  Block otherwise;
  bool recursive = false;
};

struct Parameter {
  std::string name;
  ExprPtr fallback;  ///< may be null
};

struct Macro {
  std::string name;  ///< Empty for the body of a call block.
  std::vector<Parameter> parameters;
  Block body;
  bool wants_caller = false;  ///< The body mentions `caller`, which is not a parameter.
  bool wants_kwargs = false;
  bool wants_varargs = false;
};

/// {% call(parameters) macro(...) %}...{% endcall %}; the last op of `call` is the call.
struct CallBlock {
  ExprPtr call;
  Macro caller;
};

struct FilterBlock {
  std::vector<PostfixOp> filters;
  Block body;
};

/// {% with a = 1 %}.
struct With {
  std::vector<std::pair<Target, ExprPtr>> bindings;
  Block body;
};

/// {% generation %}...{% endgeneration %}, around text of the assistant.
struct Generation {
  Block body;
};

struct Break {};
struct Continue {};

struct Statement {
  std::uint32_t line = 0;
  std::variant<Data, Output, Set, SetBlock, If, For, Macro, CallBlock, FilterBlock, With,
               Generation, Break, Continue>
      node;
};

}  // namespace ast
}  // namespace weft::jinja
