#include "weft/text/jinja/syntax/parser.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/syntax/expression_parser.h"
#include "weft/text/jinja/syntax/lexer.h"
#include "weft/text/jinja/syntax/token_stream.h"

namespace weft::jinja {
namespace {

using Type = Token::Type;
using Names = std::initializer_list<std::string_view>;

/// Restores a value at the end of a scope.
template <class T>
class Restored {
 public:
  Restored(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
  ~Restored() { place_ = std::move(before_); }

 private:
  T& place_;
  T before_;
};

class Parser {
 public:
  Parser(std::string_view source, std::vector<Token> tokens)
      : stream_(source, std::move(tokens)), expressions_(stream_, state_) {}

  Result<ast::Block> run() {
    ast::Block block = statements({});
    if (!state_.unknown.empty()) {
      const UnknownName& first = state_.unknown.front();
      stream_.fail_at(*first.at, TextErrc::kBadTemplate, first.what);
    }
    if (stream_.failed()) return stream_.error();
    return block;
  }

 private:
  ast::Block statements(Names ends);
  void one(ast::Block& block, Names ends, bool& ended);
  ast::Block body(Names ends);
  ast::Block body_to_end(std::string_view end);
  void output(ast::Block& block);
  void tag(ast::Block& block);
  void set(ast::Block& block, std::uint32_t line);
  void branch(ast::Block& block, std::uint32_t line);
  void loop(ast::Block& block, std::uint32_t line);
  void macro(ast::Block& block, std::uint32_t line);
  void call_block(ast::Block& block, std::uint32_t line);
  void filter_block(ast::Block& block, std::uint32_t line);
  void with(ast::Block& block, std::uint32_t line);
  void generation(ast::Block& block, std::uint32_t line);
  void print(ast::Block& block, std::uint32_t line);
  void leave_loop(ast::Block& block, std::uint32_t line, bool stop);
  std::vector<ast::Parameter> signature();
  ast::Block macro_body(ast::Macro& macro, std::string_view end);
  void settle_special_parameters(ast::Macro& macro, const Token& at);

  TokenStream stream_;
  ParserState state_;
  ExpressionParser expressions_;
};

bool names_one_of(const Token& token, Names names) {
  return token.type == Type::kName && std::ranges::find(names, token.text) != names.end();
}

/// Reads statements up to a tag in `ends`, whose name becomes the current token; to the end of the
/// source when `ends` is empty.
ast::Block Parser::statements(Names ends) {
  ast::Block block;
  bool ended = false;
  while (!ended && !stream_.at_end()) one(block, ends, ended);
  if (!ended && ends.size() != 0) {
    stream_.fail("the template ends where '", *ends.begin(), "' is expected");
  }
  return block;
}

void Parser::one(ast::Block& block, Names ends, bool& ended) {
  const Token& token = stream_.next();
  switch (token.type) {
    case Type::kData:
      block.push_back({token.line, ast::Data{token.text}});
      return;
    case Type::kOutputBegin:
      output(block);
      return;
    case Type::kBlockBegin:
      ended = names_one_of(stream_.current(), ends);
      if (ended) return;
      tag(block);
      stream_.expect(Type::kBlockEnd, "the end of the tag");
      return;
    default:
      stream_.fail_at(token, TextErrc::kBadTemplate, "unexpected token");
  }
}

/// Reads a body after its tag; the end tag is still to be read.
ast::Block Parser::body(Names ends) {
  const NestingLevel level(stream_, state_);
  stream_.skip_operator(":");
  stream_.expect(Type::kBlockEnd, "the end of the tag");
  return statements(ends);
}

ast::Block Parser::body_to_end(std::string_view end) {
  ast::Block block = body({end});
  stream_.next();
  return block;
}

void Parser::output(ast::Block& block) {
  const std::uint32_t line = stream_.current().line;
  auto value = expressions_.expression_list();
  stream_.expect(Type::kOutputEnd, "the end of the print statement");
  block.push_back({line, ast::Output{std::move(value)}});
}

void Parser::tag(ast::Block& block) {
  const Token& token = stream_.current();
  const std::string name = stream_.expect_name("the name of a tag");
  const std::uint32_t line = token.line;
  if (name == "set") return set(block, line);
  if (name == "if") return branch(block, line);
  if (name == "for") return loop(block, line);
  if (name == "macro") return macro(block, line);
  if (name == "call") return call_block(block, line);
  if (name == "filter") return filter_block(block, line);
  if (name == "with") return with(block, line);
  if (name == "generation") return generation(block, line);
  if (name == "print") return print(block, line);
  if (name == "break") return leave_loop(block, line, true);
  if (name == "continue") return leave_loop(block, line, false);
  stream_.fail_at(token, TextErrc::kBadTemplate, "unknown tag '", name, "'");
}

void Parser::set(ast::Block& block, std::uint32_t line) {
  ast::Target target = expressions_.target({}, true);
  if (stream_.skip_operator("=")) {
    auto value = expressions_.expression_list();
    block.push_back({line, ast::Set{std::move(target), std::move(value)}});
    return;
  }
  const Restored<bool> optional(state_.optional, false);
  auto filters = expressions_.filters(false);
  block.push_back(
      {line, ast::SetBlock{std::move(target), std::move(filters), body_to_end("endset")}});
}

void Parser::branch(ast::Block& block, std::uint32_t line) {
  const Restored<bool> optional(state_.optional, true);
  ast::If node;
  std::string end = "elif";
  while (end == "elif") {
    auto test = expressions_.expression_list(false);
    node.branches.emplace_back(std::move(test), body({"elif", "else", "endif"}));
    end = stream_.next().text;
  }
  if (end == "else") node.otherwise = body_to_end("endif");
  block.push_back({line, std::move(node)});
}

bool is_loop_name(const ast::Target& target) {
  if (const auto* name = std::get_if<ast::NameTarget>(&target.to)) return name->name == "loop";
  if (const auto* tuple = std::get_if<ast::TupleTarget>(&target.to)) {
    return std::ranges::any_of(tuple->items, is_loop_name);
  }
  return false;
}

void Parser::loop(ast::Block& block, std::uint32_t line) {
  ast::For node;
  node.target = expressions_.target("in");
  if (is_loop_name(node.target)) stream_.fail("cannot assign to the special variable loop");
  if (!stream_.skip_name("in")) stream_.fail("expected 'in'");
  node.iterable = expressions_.expression_list(false, "recursive");
  const Restored<bool> optional(state_.optional, false);
  if (stream_.skip_name("if")) node.filter = expressions_.expression();
  node.recursive = stream_.skip_name("recursive");
  {
    const Restored<bool> in_loop(state_.in_loop, true);
    node.body = body({"endfor", "else"});
  }
  if (stream_.next().is_name("else")) node.otherwise = body_to_end("endfor");
  block.push_back({line, std::move(node)});
}

std::vector<ast::Parameter> Parser::signature() {
  std::vector<ast::Parameter> parameters;
  stream_.expect_operator("(");
  while (!stream_.at_end() && !stream_.current().is_operator(")")) {
    if (!parameters.empty()) stream_.expect_operator(",");
    ast::Parameter parameter{expressions_.assignable_name(), nullptr};
    if (stream_.skip_operator("=")) {
      parameter.fallback = expressions_.expression();
    } else if (!parameters.empty() && parameters.back().fallback) {
      stream_.fail("a parameter without a default follows one with a default");
    }
    parameters.push_back(std::move(parameter));
  }
  stream_.expect_operator(")");
  return parameters;
}

ast::Block Parser::macro_body(ast::Macro& macro, std::string_view end) {
  const Restored<bool> optional(state_.optional, false);
  const Restored<bool> in_loop(state_.in_loop, false);
  state_.macros.push_back(&macro);
  ast::Block block = body_to_end(end);
  state_.macros.pop_back();
  return block;
}

void Parser::settle_special_parameters(ast::Macro& macro, const Token& at) {
  for (const ast::Parameter& parameter : macro.parameters) {
    if (parameter.name == "caller" && macro.wants_caller) {
      macro.wants_caller = false;
      if (!parameter.fallback) {
        stream_.fail_at(at, TextErrc::kBadTemplate, "the parameter caller needs a default");
      }
    }
    if (parameter.name == "kwargs") macro.wants_kwargs = false;
    if (parameter.name == "varargs") macro.wants_varargs = false;
  }
}

void Parser::macro(ast::Block& block, std::uint32_t line) {
  ast::Macro node;
  const Token& at = stream_.current();
  node.name = expressions_.assignable_name();
  node.parameters = signature();
  node.body = macro_body(node, "endmacro");
  settle_special_parameters(node, at);
  block.push_back({line, std::move(node)});
}

void Parser::call_block(ast::Block& block, std::uint32_t line) {
  ast::CallBlock node;
  const Token& at = stream_.current();
  if (at.is_operator("(")) node.caller.parameters = signature();
  node.call = expressions_.expression();
  if (!node.call) return;
  const auto* postfix = std::get_if<ast::Postfix>(&node.call->node);
  if (!postfix || !std::holds_alternative<ast::Call>(postfix->ops.back().op)) {
    return stream_.fail_at(at, TextErrc::kBadTemplate, "expected a call");
  }
  node.caller.body = macro_body(node.caller, "endcall");
  settle_special_parameters(node.caller, at);
  block.push_back({line, std::move(node)});
}

void Parser::filter_block(ast::Block& block, std::uint32_t line) {
  auto filters = expressions_.filters(true);
  const Restored<bool> optional(state_.optional, false);
  block.push_back({line, ast::FilterBlock{std::move(filters), body_to_end("endfilter")}});
}

void Parser::with(ast::Block& block, std::uint32_t line) {
  ast::With node;
  while (!stream_.at_end() && stream_.current().type != Type::kBlockEnd) {
    if (!node.bindings.empty()) stream_.expect_operator(",");
    ast::Target target = expressions_.target();
    stream_.expect_operator("=");
    node.bindings.emplace_back(std::move(target), expressions_.expression());
  }
  const Restored<bool> optional(state_.optional, false);
  node.body = body_to_end("endwith");
  block.push_back({line, std::move(node)});
}

/// transformers' extension, which marks the assistant's text; the text does not change. It makes
/// its body a macro, so a loop around it cannot be left from inside.
void Parser::generation(ast::Block& block, std::uint32_t line) {
  const Restored<bool> optional(state_.optional, false);
  const Restored<bool> in_loop(state_.in_loop, false);
  block.push_back({line, ast::Generation{body_to_end("endgeneration")}});
}

void Parser::print(ast::Block& block, std::uint32_t line) {
  bool first = true;
  while (!stream_.at_end() && stream_.current().type != Type::kBlockEnd) {
    if (!std::exchange(first, false)) stream_.expect_operator(",");
    block.push_back({line, ast::Output{expressions_.expression()}});
  }
}

void Parser::leave_loop(ast::Block& block, std::uint32_t line, bool stop) {
  if (!state_.in_loop) return stream_.fail("break and continue stand only in loops");
  if (stop) {
    block.push_back({line, ast::Break{}});
  } else {
    block.push_back({line, ast::Continue{}});
  }
}

}  // namespace

Result<ast::Block> parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return Error{TextErrc::kTemplateLimit,
                 concat({"the source has more than ", std::to_string(kMaxSourceBytes), " bytes"})};
  }
  auto tokens = tokenize(source);
  if (!tokens) return tokens.error();
  return Parser(source, std::move(*tokens)).run();
}

}  // namespace weft::jinja
