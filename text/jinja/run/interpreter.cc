#include "weft/text/jinja/run/interpreter.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "weft/text/jinja/run/loop.h"
#include "weft/text/jinja/run/macro.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"

/// Statements. Expressions are in evaluation.cc, calls of macros in macro.cc.
namespace weft::jinja {

Interpreter::Level::Level(Interpreter& interpreter) : interpreter_(interpreter) {
  if (++interpreter_.depth_ > kMaxEvaluationDepth) {
    interpreter_.run_.fail_limit("evaluation nests deeper than ",
                                 std::to_string(kMaxEvaluationDepth), " levels");
  }
}

std::string Interpreter::render(const ast::Block& block) {
  run_block(block, *run_.make<Scope>(run_, nullptr));
  return output_.take_prompt();
}

Interpreter::Flow Interpreter::run_block(const ast::Block& block, Scope& scope) {
  for (const ast::Statement& statement : block) {
    if (!run_.step()) break;
    const Flow flow = run(statement, scope);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const ast::Statement& statement, Scope& scope) {
  const Level level(*this);
  Flow flow = Flow::kNext;
  try {
    if (!run_.failed()) {
      flow = std::visit([&](const auto& node) { return exec(node, scope); }, statement.node);
    }
  } catch (const MemorySpent&) {
    run_.fail_memory();
  }
  run_.locate_failure(statement.line);
  return flow;
}

Interpreter::Flow Interpreter::exec(const ast::Data& node, Scope& /*scope*/) {
  output_.write(node.text);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec(const ast::Output& node, Scope& scope) {
  output_.write(to_text(run_, eval(*node.value, scope)).view);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec(const ast::Set& node, Scope& scope) {
  assign(node.target, eval(*node.value, scope), scope);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec(const ast::SetBlock& node, Scope& scope) {
  output_.begin_capture();
  const Flow flow = run_block(node.body, *run_.make<Scope>(run_, &scope));
  const Value text = output_.end_capture();
  if (flow == Flow::kNext) assign(node.target, apply_filters(node.filters, text, scope), scope);
  return flow;
}

Interpreter::Flow Interpreter::exec(const ast::If& node, Scope& scope) {
  for (const auto& [test, body] : node.branches) {
    const bool holds = truth(eval(*test, scope));
    if (run_.failed()) return Flow::kNext;
    if (holds) return run_block(body, scope);
  }
  return run_block(node.otherwise, scope);
}

Interpreter::Flow Interpreter::exec(const ast::For& node, Scope& scope) {
  return run_loop(node, scope, eval(*node.iterable, scope), 0);
}

Interpreter::Flow Interpreter::run_loop(const ast::For& node, const Scope& scope,
                                        const Value& iterable, std::int64_t depth) {
  Iterator* source = iterate(run_, iterable);
  if (source == nullptr) return Flow::kNext;
  const auto size = node.filter ? std::nullopt : size_of(iterable);
  auto* loop = run_.make<Loop>(*this, node, scope, *source, size, depth);
  auto* inner = run_.make<Scope>(run_, &scope);
  // As in Jinja, an iteration that is broken off does not count.
  bool any = false;
  while (const auto element = loop->advance(run_)) {
    inner->clear();
    inner->set(run_, "loop", static_cast<Object*>(loop));
    assign(node.target, *element, *inner);
    const Flow flow = run_block(node.body, *inner);
    if (flow == Flow::kBreak || run_.failed()) break;
    any = any || flow == Flow::kNext;
  }
  if (any || run_.failed()) return Flow::kNext;
  return run_block(node.otherwise, *run_.make<Scope>(run_, &scope));
}

bool Interpreter::passes(const ast::For& loop, const Scope& outer, const Value& element) {
  auto* scope = run_.make<Scope>(run_, &outer);
  assign(loop.target, element, *scope);
  return truth(eval(*loop.filter, *scope));
}

Interpreter::Flow Interpreter::exec(const ast::Macro& node, Scope& scope) {
  scope.set(run_, node.name, static_cast<Object*>(run_.make<Macro>(*this, node, scope)));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec(const ast::CallBlock& node, Scope& scope) {
  const auto& postfix = std::get<ast::Postfix>(node.call->node);
  Value callee = eval(*postfix.base, scope);
  const auto ops = std::span(postfix.ops);
  callee = apply_filters(ops.first(ops.size() - 1), callee, scope);
  Call call(run_);
  if (!eval_arguments(std::get<ast::Call>(ops.back().op).arguments, scope, call)) {
    return Flow::kNext;
  }
  call.keywords.push_back(
      {"caller", static_cast<Object*>(run_.make<Macro>(*this, node.caller, scope))});
  output_.write(to_text(run_, call_value(callee, call.arguments())).view);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec(const ast::FilterBlock& node, Scope& scope) {
  output_.begin_capture();
  const Flow flow = run_block(node.body, *run_.make<Scope>(run_, &scope));
  const Value text = output_.end_capture();
  if (flow != Flow::kNext) return flow;
  output_.write(to_text(run_, apply_filters(node.filters, text, scope)).view);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec(const ast::With& node, Scope& scope) {
  auto* inner = run_.make<Scope>(run_, &scope);
  for (const auto& [target, value] : node.bindings) assign(target, eval(*value, scope), *inner);
  return run_block(node.body, *inner);
}

Interpreter::Flow Interpreter::exec(const ast::Generation& node, Scope& scope) {
  const auto begin = output_.place();
  const Flow flow = run_block(node.body, *run_.make<Scope>(run_, &scope));
  if (begin) output_.mark_generated(*begin);
  return flow;
}

Interpreter::Flow Interpreter::exec(const ast::Break& /*node*/, Scope& /*scope*/) {
  return Flow::kBreak;
}

Interpreter::Flow Interpreter::exec(const ast::Continue& /*node*/, Scope& /*scope*/) {
  return Flow::kContinue;
}

void Interpreter::assign(const ast::Target& target, const Value& value, Scope& scope) {
  if (run_.failed()) return;
  if (const auto* name = std::get_if<ast::NameTarget>(&target.to)) {
    scope.set(run_, name->name, value);
  } else if (const auto* attribute = std::get_if<ast::AttributeTarget>(&target.to)) {
    assign_attribute(*attribute, value, scope);
  } else {
    unpack(std::get<ast::TupleTarget>(target.to), value, scope);
  }
}

void Interpreter::unpack(const ast::TupleTarget& target, const Value& value, Scope& scope) {
  const auto items = Items::of(run_, value);
  if (!items) return;
  if (items->size() != target.items.size()) {
    run_.fail("expected ", std::to_string(target.items.size()), " values to unpack, got ",
              std::to_string(items->size()));
    return;
  }
  for (std::size_t at = 0; at < target.items.size(); ++at) {
    assign(target.items[at], items->at(run_, at), scope);
  }
}

void Interpreter::assign_attribute(const ast::AttributeTarget& target, const Value& value,
                                   Scope& scope) {
  const Value* object = scope.find(run_, target.object);
  if (object == nullptr) object = variables_.find(target.object);
  auto* space = object == nullptr ? nullptr : dynamic_cast<Namespace*>(object->object());
  if (space == nullptr) {
    run_.fail("cannot assign attribute on non-namespace object");
    return;
  }
  space->set(target.attribute, value);
}

}  // namespace weft::jinja
