#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/syntax/expression_parser.h"

/// Operators after a value: attributes, subscripts, calls, filters and tests.
namespace weft::jinja {
namespace {

using ast::ExprPtr;
using Type = Token::Type;

}  // namespace

void ExpressionParser::postfix(std::vector<ast::PostfixOp>& ops) {
  while (!stream_.failed()) {
    const Token& token = stream_.current();
    if (token.is_operator(".")) {
      dotted(ops);
    } else if (token.is_operator("[")) {
      subscript(ops);
    } else if (token.is_operator("(")) {
      call(ops);
    } else {
      return;
    }
  }
}

void ExpressionParser::postfix_or_filter(std::vector<ast::PostfixOp>& ops) {
  while (!stream_.failed()) {
    const Token& token = stream_.current();
    if (token.is_operator("|")) {
      stream_.next();
      filter(ops);
    } else if (token.is_name("is")) {
      test(ops);
    } else if (token.is_operator("(")) {
      call(ops);
    } else {
      return;
    }
  }
}

void ExpressionParser::dotted(std::vector<ast::PostfixOp>& ops) {
  const std::uint32_t line = stream_.next().line;
  const Token& token = stream_.next();
  if (token.type == Type::kName) {
    ops.push_back({line, ast::Attribute{token.text}});
  } else if (token.type == Type::kInteger) {
    auto key = std::make_unique<ast::Expr>(
        ast::Expr{line, ast::Literal{std::get<std::int64_t>(token.number)}});
    ops.push_back({line, ast::Item{std::move(key)}});
  } else {
    stream_.fail_at(token, TextErrc::kBadTemplate, "expected a name or a number after the dot");
  }
}

void ExpressionParser::subscript(std::vector<ast::PostfixOp>& ops) {
  const std::uint32_t line = stream_.next().line;
  const auto is_end = [this] {
    return stream_.current().is_operator("]") || stream_.current().is_operator(":");
  };
  const auto part = [&] { return is_end() ? nullptr : expression(); };
  ExprPtr first = part();
  if (stream_.skip_operator(":")) {
    ast::Slice slice{std::move(first), part(), nullptr};
    if (stream_.skip_operator(":")) slice.step = part();
    ops.push_back({line, std::move(slice)});
  } else if (stream_.current().is_operator(",") || !first) {
    ast::Sequence keys{{}, true};
    if (first) keys.items.push_back(std::move(first));
    while (stream_.skip_operator(",")) keys.items.push_back(expression());
    ops.push_back({line, ast::Item{std::make_unique<ast::Expr>(ast::Expr{line, std::move(keys)})}});
  } else {
    ops.push_back({line, ast::Item{std::move(first)}});
  }
  stream_.expect_operator("]");
}

void ExpressionParser::call(std::vector<ast::PostfixOp>& ops) {
  const std::uint32_t line = stream_.current().line;
  ops.push_back({line, ast::Call{arguments()}});
}

ast::CallArguments ExpressionParser::arguments() {
  ast::CallArguments arguments;
  stream_.expect_operator("(");
  while (!stream_.at_end() && !stream_.current().is_operator(")")) {
    argument(arguments);
    if (stream_.current().is_operator(")")) break;
    stream_.expect_operator(",");
  }
  stream_.expect_operator(")");
  return arguments;
}

void ExpressionParser::argument(ast::CallArguments& arguments) {
  const bool keyword = stream_.current().type == Type::kName && stream_.look().is_operator("=");
  const bool after_stars = arguments.more_positional || arguments.more_keywords;
  if (stream_.skip_operator("*")) {
    if (after_stars) stream_.fail("* comes after * or **");
    arguments.more_positional = expression();
  } else if (stream_.skip_operator("**")) {
    if (arguments.more_keywords) stream_.fail("** stands twice");
    arguments.more_keywords = expression();
  } else if (keyword) {
    if (arguments.more_keywords) stream_.fail("a named argument comes after **");
    std::string name = stream_.next().text;
    stream_.next();
    arguments.keywords.emplace_back(std::move(name), expression());
  } else {
    if (after_stars || !arguments.keywords.empty()) {
      stream_.fail("a positional argument comes after named ones");
    }
    arguments.positional.push_back(expression());
  }
}

std::string ExpressionParser::dotted_name(std::string_view what) {
  std::string name = stream_.expect_name(what);
  while (stream_.skip_operator(".")) name.append(".").append(stream_.expect_name(what));
  return name;
}

void ExpressionParser::filter(std::vector<ast::PostfixOp>& ops) {
  const Token& token = stream_.current();
  ast::Filter node{dotted_name("the name of a filter"), nullptr, {}};
  node.builtin = find_filter(node.name);
  if (!node.builtin && !state_.optional) {
    state_.unknown.push_back({&token, concat({"no filter named '", node.name, "'"})});
  }
  if (stream_.current().is_operator("(")) node.arguments = arguments();
  ops.push_back({token.line, std::move(node)});
}

std::vector<ast::PostfixOp> ExpressionParser::filters(bool first_without_bar) {
  std::vector<ast::PostfixOp> ops;
  if (first_without_bar) filter(ops);
  while (stream_.skip_operator("|")) filter(ops);
  return ops;
}

void ExpressionParser::test(std::vector<ast::PostfixOp>& ops) {
  const std::uint32_t line = stream_.next().line;
  ast::Test node;
  node.negated = stream_.skip_name("not");
  const Token& token = stream_.current();
  node.name = dotted_name("the name of a test");
  node.builtin = find_test(node.name);
  if (!node.builtin && !state_.optional) {
    state_.unknown.push_back({&token, concat({"no test named '", node.name, "'"})});
  }
  const Token& next = stream_.current();
  constexpr std::array<std::string_view, 3> kWords = {"else", "or", "and"};
  const bool word =
      next.type == Type::kName && std::ranges::find(kWords, next.text) == kWords.end();
  const bool value = next.type == Type::kString || next.type == Type::kInteger ||
                     next.type == Type::kFloat || next.is_operator("[") || next.is_operator("{");
  if (next.is_operator("(")) {
    node.arguments = arguments();
  } else if (next.is_name("is")) {
    stream_.fail("tests cannot be chained with is");
  } else if (word || value) {
    const NestingLevel level(stream_, state_);
    if (stream_.failed()) return;
    const std::uint32_t argument_line = next.line;
    ExprPtr base = primary();
    std::vector<ast::PostfixOp> argument_ops;
    postfix(argument_ops);
    if (!argument_ops.empty()) {
      base = std::make_unique<ast::Expr>(
          ast::Expr{argument_line, ast::Postfix{std::move(base), std::move(argument_ops)}});
    }
    node.arguments.positional.push_back(std::move(base));
  }
  ops.push_back({line, std::move(node)});
}

}  // namespace weft::jinja
