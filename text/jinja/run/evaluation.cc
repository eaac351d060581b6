#include <string>
#include <utility>
#include <variant>

#include "weft/text/jinja/run/interpreter.h"
#include "weft/text/jinja/values/arithmetic.h"
#include "weft/text/jinja/values/attribute.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"

/// Expressions.
namespace weft::jinja {

Value Interpreter::eval(const ast::Expr& expr, const Scope& scope) {
  const Level level(*this);
  if (!run_.step()) return {};
  const Value value = std::visit([&](const auto& node) { return visit(node, scope); }, expr.node);
  run_.locate_failure(expr.line);
  return value;
}

Value Interpreter::eval_or_none(const ast::ExprPtr& expr, const Scope& scope) {
  return expr ? eval(*expr, scope) : None{};
}

Value Interpreter::visit(const ast::Literal& node, const Scope& /*scope*/) {
  if (const auto* text = std::get_if<std::string>(&node.value)) return Text{*text};
  if (const auto* integer = std::get_if<std::int64_t>(&node.value)) return *integer;
  if (const auto* real = std::get_if<double>(&node.value)) return *real;
  if (const auto* boolean = std::get_if<bool>(&node.value)) return *boolean;
  return None{};
}

Value Interpreter::visit(const ast::Name& node, const Scope& scope) {
  if (const Value* value = scope.find(run_, node.name)) return *value;
  if (const Value* value = variables_.find(node.name)) return *value;
  if (const Builtin* global = find_global(node.name)) {
    return static_cast<Object*>(run_.make<BoundBuiltin>(*global, Value()));
  }
  return Undefined{node.name, Undefined::Cause::kName};
}

Value Interpreter::visit(const ast::Sequence& node, const Scope& scope) {
  ListBuilder list(run_);
  for (const auto& item : node.items) list.push(eval(*item, scope));
  return list.finish(node.tuple ? List::Type::kTuple : List::Type::kList);
}

Value Interpreter::visit(const ast::Mapping& node, const Scope& scope) {
  Dict* dict = run_.make<Dict>(run_.memory());
  for (const auto& [key_expr, value_expr] : node.entries) {
    const Value key = eval(*key_expr, scope);
    const Value value = eval(*value_expr, scope);
    if (!run_.step() || !check_hashable(run_, key)) return {};
    dict->set(key, value);
  }
  return static_cast<const Dict*>(dict);
}

Value Interpreter::visit(const ast::Logic& node, const Scope& scope) {
  Value value;
  for (const auto& operand : node.operands) {
    value = eval(*operand, scope);
    if (truth(value) != node.all || !run_.step()) break;
  }
  return value;
}

Value Interpreter::visit(const ast::Not& node, const Scope& scope) {
  return !truth(eval(*node.operand, scope));
}

Value Interpreter::visit(const ast::Sign& node, const Scope& scope) {
  return apply_sign(run_, node.negative, eval(*node.operand, scope));
}

Value Interpreter::visit(const ast::Arithmetic& node, const Scope& scope) {
  Value value = eval(*node.first, scope);
  for (const auto& [op, operand] : node.rest) {
    const Value right = eval(*operand, scope);
    if (!run_.step()) return {};
    value = arithmetic(run_, op, value, right);
  }
  return value;
}

namespace {

bool holds(Run& run, ast::CompareOp op, const Value& left, const Value& right) {
  switch (op) {
    case ast::CompareOp::kEq:
      return equal(run, left, right);
    case ast::CompareOp::kNe:
      return !equal(run, left, right);
    case ast::CompareOp::kLt:
      return less(run, left, right);
    case ast::CompareOp::kLe:
      return less_equal(run, left, right);
    case ast::CompareOp::kGt:
      return less(run, right, left);
    case ast::CompareOp::kGe:
      return less_equal(run, right, left);
    case ast::CompareOp::kIn:
      return contains(run, right, left);
    case ast::CompareOp::kNotIn:
      return !contains(run, right, left);
  }
  return false;
}

}  // namespace

Value Interpreter::visit(const ast::Comparison& node, const Scope& scope) {
  Value left = eval(*node.first, scope);
  for (const auto& [op, operand] : node.rest) {
    const Value right = eval(*operand, scope);
    if (!run_.step() || !holds(run_, op, left, right)) return false;
    left = right;
  }
  return true;
}

Value Interpreter::visit(const ast::Concatenation& node, const Scope& scope) {
  TextBuilder text(run_);
  for (const auto& part : node.parts) {
    print(text, eval(*part, scope));
    if (!run_.step()) return {};
  }
  return text.finish();
}

Value Interpreter::visit(const ast::Conditional& node, const Scope& scope) {
  const bool chosen = truth(eval(*node.test, scope));
  if (!run_.step()) return {};
  if (chosen) return eval(*node.then, scope);
  if (node.otherwise) return eval(*node.otherwise, scope);
  return Undefined{"the inline if-expression evaluated to false and no else section was defined."};
}

Value Interpreter::visit(const ast::Postfix& node, const Scope& scope) {
  return apply_filters(node.ops, eval(*node.base, scope), scope);
}

Value Interpreter::apply_filters(std::span<const ast::PostfixOp> ops, Value value,
                                 const Scope& scope) {
  for (const ast::PostfixOp& op : ops) {
    if (!run_.step()) return {};
    value = apply(op, value, scope);
    run_.locate_failure(op.line);
  }
  return value;
}

Value Interpreter::apply(const ast::PostfixOp& op, const Value& value, const Scope& scope) {
  return std::visit([&](const auto& node) { return apply(node, value, scope); }, op.op);
}

Value Interpreter::apply(const ast::Attribute& op, const Value& value, const Scope& /*scope*/) {
  return attribute(run_, value, op.name);
}

Value Interpreter::apply(const ast::Item& op, const Value& value, const Scope& scope) {
  return item(run_, value, eval(*op.key, scope));
}

Value Interpreter::apply(const ast::Slice& op, const Value& value, const Scope& scope) {
  const Value start = eval_or_none(op.start, scope);
  const Value stop = eval_or_none(op.stop, scope);
  return slice(run_, value, start, stop, eval_or_none(op.step, scope));
}

Value Interpreter::apply(const ast::Call& op, const Value& value, const Scope& scope) {
  Call call(run_);
  if (!eval_arguments(op.arguments, scope, call)) return {};
  return call_value(value, call.arguments());
}

Value Interpreter::apply(const ast::Filter& op, const Value& value, const Scope& scope) {
  if (op.builtin == nullptr) return run_.fail("No filter named '", op.name, "'.");
  Call call(run_);
  if (!eval_arguments(op.arguments, scope, call)) return {};
  return jinja::call(run_, *op.builtin, value, call.arguments());
}

Value Interpreter::apply(const ast::Test& op, const Value& value, const Scope& scope) {
  if (op.builtin == nullptr) return run_.fail("No test named '", op.name, "'.");
  Call call(run_);
  if (!eval_arguments(op.arguments, scope, call)) return {};
  const Value holds = jinja::call(run_, *op.builtin, value, call.arguments());
  return truth(holds) != op.negated;
}

bool Interpreter::eval_arguments(const ast::CallArguments& arguments, const Scope& scope,
                                 Call& call) {
  for (const auto& argument : arguments.positional) {
    call.positional.push_back(eval(*argument, scope));
  }
  for (const auto& [name, value] : arguments.keywords) {
    call.keywords.push_back({name, eval(*value, scope)});
  }
  if (arguments.more_positional) {
    const auto items = Items::of(run_, eval(*arguments.more_positional, scope));
    for (std::size_t at = 0; items && at < items->size() && run_.step(); ++at) {
      call.positional.push_back(items->at(run_, at));
    }
  }
  if (arguments.more_keywords && !spread_keywords(eval(*arguments.more_keywords, scope), call)) {
    return false;
  }
  return !run_.failed();
}

bool Interpreter::spread_keywords(const Value& value, Call& call) {
  if (value.dict() == nullptr) {
    run_.fail("argument after ** must be a mapping, not ", type_name(value));
    return false;
  }
  for (const Dict::Entry& entry : value.dict()->entries()) {
    const Text* name = entry.key.text();
    if (name == nullptr) {
      run_.fail("keywords must be strings");
      return false;
    }
    if (!run_.step_look(call.keywords.size() * (1 + name->view.size() / kScannedBytesPerStep))) {
      return false;
    }
    for (const Keyword& keyword : call.keywords) {
      if (keyword.name != name->view) continue;
      run_.fail("got multiple values for keyword argument '", name->view, "'");
      return false;
    }
    call.keywords.push_back({name->view, entry.value});
  }
  return true;
}

Value Interpreter::call_value(const Value& callee, const Arguments& arguments) {
  if (run_.failed()) return {};
  if (Object* object = callee.object()) return object->call(run_, arguments);
  if (const Undefined* undefined = callee.undefined()) {
    return run_.fail(undefined_message(*undefined));
  }
  return run_.fail("'", type_name(callee), "' object is not callable");
}

}  // namespace weft::jinja
