#include "weft/text/jinja/run/macro.h"

#include <algorithm>
#include <string>

#include "weft/text/jinja/run/interpreter.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/print.h"

namespace weft::jinja {
namespace {

std::size_t parameter_index(const ast::Macro& macro, std::string_view name) {
  const auto found = std::ranges::find(macro.parameters, name, &ast::Parameter::name);
  return static_cast<std::size_t>(found - macro.parameters.begin());
}

/// Whether a keyword fills a parameter that has no value by position.
bool fills_parameter(const ast::Macro& macro, const Arguments& arguments, std::string_view name) {
  const std::size_t index = parameter_index(macro, name);
  return index < macro.parameters.size() && index >= arguments.positional.size();
}

}  // namespace

void Macro::print(TextBuilder& out, std::size_t /*depth*/) const {
  out.append("<Macro ");
  if (node_.name.empty()) {
    out.append("anonymous");
  } else {
    print_repr(out, Text{node_.name});
  }
  out.append(">");
}

std::optional<Value> Macro::attribute(Run& /*run*/, std::string_view name) {
  if (name != "name") return std::nullopt;
  return node_.name.empty() ? Value(None{}) : Value(Text{node_.name});
}

Value Macro::call(Run& /*run*/, const Arguments& arguments) {
  return interpreter_.call_macro(node_, closure_, arguments);
}

bool Interpreter::check_keywords(const ast::Macro& macro, const Arguments& arguments) {
  for (const Keyword& keyword : arguments.keywords) {
    if (!run_.step_look(macro.parameters.size())) return false;
    const bool caller = keyword.name == "caller" && macro.wants_caller;
    if (caller || macro.wants_kwargs || fills_parameter(macro, arguments, keyword.name)) continue;
    run_.fail("macro '", macro.name, "' takes no keyword argument '", keyword.name, "'");
    return false;
  }
  if (!macro.wants_varargs && arguments.positional.size() > macro.parameters.size()) {
    run_.fail("macro '", macro.name, "' takes not more than ",
              std::to_string(macro.parameters.size()), " argument(s)");
    return false;
  }
  return true;
}

/// Returns the keywords that are no parameters.
Value Interpreter::other_keywords(const ast::Macro& macro, const Arguments& arguments) {
  Dict* rest = run_.make<Dict>(run_.memory());
  for (const Keyword& keyword : arguments.keywords) {
    const bool caller = keyword.name == "caller" && macro.wants_caller;
    if (!run_.step_look(macro.parameters.size())) return {};
    if (caller || fills_parameter(macro, arguments, keyword.name)) continue;
    const Value name = Text{keyword.name};
    if (!check_hashable(run_, name)) return {};
    rest->set(name, keyword.value);
  }
  return static_cast<const Dict*>(rest);
}

/// Binds caller, kwargs and varargs, where the body mentions them.
bool Interpreter::bind_special(const ast::Macro& macro, const Arguments& arguments, Scope& scope) {
  if (macro.wants_caller) {
    const Keyword* caller = find_keyword(run_, arguments, "caller");
    scope.set(run_, "caller", caller != nullptr ? caller->value : Undefined{"No caller defined"});
  }
  if (macro.wants_kwargs) scope.set(run_, "kwargs", other_keywords(macro, arguments));
  if (macro.wants_varargs) {
    const std::size_t taken = std::min(macro.parameters.size(), arguments.positional.size());
    scope.set(run_, "varargs", run_.list(arguments.positional.subspan(taken), List::Type::kTuple));
  }
  return !run_.failed();
}

bool Interpreter::bind_parameters(const ast::Macro& macro, const Arguments& arguments,
                                  Scope& scope) {
  if (!check_keywords(macro, arguments) || !bind_special(macro, arguments, scope)) return false;
  for (std::size_t at = 0; at < macro.parameters.size(); ++at) {
    const ast::Parameter& parameter = macro.parameters[at];
    const Keyword* keyword = find_keyword(run_, arguments, parameter.name);
    if (at < arguments.positional.size()) {
      scope.set(run_, parameter.name, arguments.positional[at]);
    } else if (keyword != nullptr) {
      scope.set(run_, parameter.name, keyword->value);
    } else if (parameter.fallback) {
      scope.set(run_, parameter.name, eval(*parameter.fallback, scope));
    } else {
      scope.set(run_, parameter.name, Undefined{parameter.name, Undefined::Cause::kName});
    }
  }
  return !run_.failed();
}

Value Interpreter::call_macro(const ast::Macro& macro, const Scope& closure,
                              const Arguments& arguments) {
  if (calls_ == kMaxCalls) {
    return run_.fail_limit("calls nest deeper than ", std::to_string(kMaxCalls), " levels");
  }
  auto* scope = run_.make<Scope>(run_, &closure);
  ++calls_;
  output_.begin_capture();
  if (bind_parameters(macro, arguments, *scope)) run_block(macro.body, *scope);
  --calls_;
  return output_.end_capture();
}

Value Interpreter::call_loop(const ast::For& loop, const Scope& outer, const Value& iterable,
                             std::int64_t depth) {
  if (calls_ == kMaxCalls) {
    return run_.fail_limit("calls nest deeper than ", std::to_string(kMaxCalls), " levels");
  }
  ++calls_;
  output_.begin_capture();
  run_loop(loop, outer, iterable, depth);
  --calls_;
  return output_.end_capture();
}

}  // namespace weft::jinja
