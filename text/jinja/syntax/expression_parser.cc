#include "weft/text/jinja/syntax/expression_parser.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "weft/text/jinja/builtins.h"

namespace weft::jinja {
namespace {

using ast::ExprPtr;
using Type = Token::Type;

template <class Node>
ExprPtr make(std::uint32_t line, Node node) {
  return std::make_unique<ast::Expr>(ast::Expr{line, std::move(node)});
}

ExprPtr with_ops(std::uint32_t line, ExprPtr base, std::vector<ast::PostfixOp> ops) {
  if (ops.empty()) return base;
  return make(line, ast::Postfix{std::move(base), std::move(ops)});
}

std::optional<ast::ArithmeticOp> arithmetic_op(const Token& token,
                                               std::initializer_list<std::string_view> allowed) {
  using enum ast::ArithmeticOp;
  constexpr std::array<std::pair<std::string_view, ast::ArithmeticOp>, 7> kOps = {
      {{"+", kAdd},
       {"-", kSub},
       {"*", kMul},
       {"/", kDiv},
       {"//", kFloorDiv},
       {"%", kMod},
       {"**", kPow}}};
  if (token.type != Type::kOperator || std::ranges::find(allowed, token.text) == allowed.end()) {
    return std::nullopt;
  }
  return std::ranges::find(kOps, token.text, &std::pair<std::string_view, ast::ArithmeticOp>::first)
      ->second;
}

/// Reads operands joined by operators in `allowed`; `read` reads an operand.
template <class Read>
ExprPtr chain(TokenStream& stream, std::initializer_list<std::string_view> allowed, Read read) {
  const std::uint32_t line = stream.current().line;
  ast::Arithmetic node{read(), {}};
  while (const auto op = arithmetic_op(stream.current(), allowed)) {
    stream.next();
    node.rest.emplace_back(*op, read());
  }
  if (node.rest.empty()) return std::move(node.first);
  return make(line, std::move(node));
}

}  // namespace

ExprPtr ExpressionParser::expression(bool conditional) {
  const NestingLevel level(stream_, state_);
  if (stream_.failed()) return nullptr;
  return conditional ? this->conditional() : disjunction();
}

bool ExpressionParser::ends_list(std::string_view end) const {
  const Token& token = stream_.current();
  return token.type == Type::kOutputEnd || token.type == Type::kBlockEnd ||
         token.is_operator(")") || (!end.empty() && token.is_name(end)) || stream_.at_end();
}

ExprPtr ExpressionParser::expression_list(bool conditional, std::string_view end) {
  const std::uint32_t line = stream_.current().line;
  ast::Sequence tuple{{}, true};
  while (!ends_list(end)) {
    tuple.items.push_back(expression(conditional));
    if (!stream_.current().is_operator(",")) {
      if (tuple.items.size() == 1) return std::move(tuple.items.front());
      break;
    }
    stream_.next();
  }
  if (tuple.items.empty()) stream_.fail("expected an expression");
  return make(line, std::move(tuple));
}

ExprPtr ExpressionParser::conditional() {
  const std::uint32_t line = stream_.current().line;
  const bool outer = state_.optional;
  const std::size_t unknown = state_.unknown.size();
  ExprPtr value = disjunction();
  for (std::size_t depth = 0; stream_.skip_name("if"); ++depth) {
    if (depth == kMaxNesting) {
      stream_.fail_at(stream_.current(), TextErrc::kTemplateLimit, "too many conditions in a row");
    }
    state_.optional = true;
    state_.unknown.resize(unknown);
    ast::Conditional node;
    node.then = std::move(value);
    node.test = disjunction();
    if (stream_.skip_name("else")) node.otherwise = expression();
    value = make(line, std::move(node));
  }
  state_.optional = outer;
  return value;
}

ExprPtr ExpressionParser::logic(std::string_view word, bool all, Parse operand) {
  const std::uint32_t line = stream_.current().line;
  ast::Logic node{all, {}};
  node.operands.push_back((this->*operand)());
  while (stream_.skip_name(word)) node.operands.push_back((this->*operand)());
  if (node.operands.size() == 1) return std::move(node.operands.front());
  return make(line, std::move(node));
}

ExprPtr ExpressionParser::disjunction() {
  return logic("or", false, &ExpressionParser::conjunction);
}

ExprPtr ExpressionParser::conjunction() { return logic("and", true, &ExpressionParser::negation); }

ExprPtr ExpressionParser::negation() {
  const std::uint32_t line = stream_.current().line;
  if (!stream_.skip_name("not")) return comparison();
  const NestingLevel level(stream_, state_);
  if (stream_.failed()) return nullptr;
  return make(line, ast::Not{negation()});
}

bool ExpressionParser::compare_op(ast::CompareOp& op) {
  using Op = ast::CompareOp;
  constexpr std::array<std::pair<std::string_view, Op>, 6> kOps = {{{"==", Op::kEq},
                                                                    {"!=", Op::kNe},
                                                                    {"<", Op::kLt},
                                                                    {"<=", Op::kLe},
                                                                    {">", Op::kGt},
                                                                    {">=", Op::kGe}}};
  const Token& token = stream_.current();
  if (stream_.skip_name("in")) {
    op = Op::kIn;
    return true;
  }
  if (token.is_name("not") && stream_.look().is_name("in")) {
    stream_.next();
    stream_.next();
    op = Op::kNotIn;
    return true;
  }
  if (token.type != Type::kOperator) return false;
  const auto found = std::ranges::find(kOps, token.text, &std::pair<std::string_view, Op>::first);
  if (found == kOps.end()) return false;
  stream_.next();
  op = found->second;
  return true;
}

ExprPtr ExpressionParser::comparison() {
  const std::uint32_t line = stream_.current().line;
  ast::Comparison node{sum(), {}};
  for (ast::CompareOp op{}; compare_op(op);) node.rest.emplace_back(op, sum());
  if (node.rest.empty()) return std::move(node.first);
  return make(line, std::move(node));
}

ExprPtr ExpressionParser::sum() {
  return chain(stream_, {"+", "-"}, [this] { return concatenation(); });
}

ExprPtr ExpressionParser::concatenation() {
  const std::uint32_t line = stream_.current().line;
  ast::Concatenation node;
  node.parts.push_back(product());
  while (stream_.skip_operator("~")) node.parts.push_back(product());
  if (node.parts.size() == 1) return std::move(node.parts.front());
  return make(line, std::move(node));
}

ExprPtr ExpressionParser::product() {
  return chain(stream_, {"*", "/", "//", "%"}, [this] { return power(); });
}

ExprPtr ExpressionParser::power() {
  return chain(stream_, {"**"}, [this] { return unary(); });
}

ExprPtr ExpressionParser::unary() {
  const std::uint32_t line = stream_.current().line;
  ExprPtr base = sign_or_primary();
  std::vector<ast::PostfixOp> ops;
  postfix(ops);
  postfix_or_filter(ops);
  return with_ops(line, std::move(base), std::move(ops));
}

ExprPtr ExpressionParser::sign_or_primary() {
  const Token& token = stream_.current();
  if (!token.is_operator("-") && !token.is_operator("+")) return primary();
  const NestingLevel level(stream_, state_);
  if (stream_.failed()) return nullptr;
  stream_.next();
  const std::uint32_t line = stream_.current().line;
  ExprPtr operand = sign_or_primary();
  std::vector<ast::PostfixOp> ops;
  postfix(ops);
  return make(token.line,
              ast::Sign{token.text == "-", with_ops(line, std::move(operand), std::move(ops))});
}

ExprPtr ExpressionParser::primary() {
  const Token& token = stream_.current();
  switch (token.type) {
    case Type::kName:
      return name();
    case Type::kString:
      return string();
    case Type::kInteger:
      stream_.next();
      return make(token.line, ast::Literal{std::get<std::int64_t>(token.number)});
    case Type::kFloat:
      stream_.next();
      return make(token.line, ast::Literal{std::get<double>(token.number)});
    default:
      break;
  }
  if (token.is_operator("(")) return parenthesized();
  if (token.is_operator("[")) return list();
  if (token.is_operator("{")) return mapping();
  stream_.fail(stream_.at_end() ? "the template ends inside an expression"
                                : "expected an expression");
  return nullptr;
}

ExprPtr ExpressionParser::name() {
  const Token& token = stream_.next();
  const std::string& text = token.text;
  if (text == "true" || text == "True") return make(token.line, ast::Literal{true});
  if (text == "false" || text == "False") return make(token.line, ast::Literal{false});
  if (text == "none" || text == "None") return make(token.line, ast::Literal{});
  for (ast::Macro* macro : state_.macros) {
    macro->wants_caller |= text == "caller";
    macro->wants_kwargs |= text == "kwargs";
    macro->wants_varargs |= text == "varargs";
  }
  return make(token.line, ast::Name{text});
}

ExprPtr ExpressionParser::string() {
  const std::uint32_t line = stream_.current().line;
  std::string text;
  while (stream_.current().type == Type::kString) text += stream_.next().text;
  return make(line, ast::Literal{std::move(text)});
}

ExprPtr ExpressionParser::parenthesized() {
  const std::uint32_t line = stream_.next().line;
  if (stream_.skip_operator(")")) return make(line, ast::Sequence{{}, true});
  ExprPtr inner = expression_list();
  stream_.expect_operator(")");
  return inner;
}

ExprPtr ExpressionParser::list() {
  ast::Sequence node;
  const std::uint32_t line = stream_.next().line;
  while (!stream_.at_end() && !stream_.current().is_operator("]")) {
    if (!node.items.empty()) stream_.expect_operator(",");
    if (stream_.current().is_operator("]")) break;
    node.items.push_back(expression());
  }
  stream_.expect_operator("]");
  return make(line, std::move(node));
}

ExprPtr ExpressionParser::mapping() {
  ast::Mapping node;
  const std::uint32_t line = stream_.next().line;
  while (!stream_.at_end() && !stream_.current().is_operator("}")) {
    if (!node.entries.empty()) stream_.expect_operator(",");
    if (stream_.current().is_operator("}")) break;
    ExprPtr key = expression();
    stream_.expect_operator(":");
    node.entries.emplace_back(std::move(key), expression());
  }
  stream_.expect_operator("}");
  return make(line, std::move(node));
}

std::string ExpressionParser::assignable_name() {
  constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none",
                                                          "True", "False", "None"};
  if (std::ranges::find(kConstants, stream_.current().text) != kConstants.end()) {
    stream_.fail("cannot assign to a constant");
  }
  return stream_.expect_name("a name to assign to");
}

ast::Target ExpressionParser::single_target(bool with_attribute) {
  if (stream_.skip_operator("(")) {
    const NestingLevel level(stream_, state_);
    ast::Target inner = target({}, with_attribute);
    stream_.expect_operator(")");
    return inner;
  }
  std::string name = assignable_name();
  if (!with_attribute || !stream_.skip_operator(".")) return {ast::NameTarget{std::move(name)}};
  return {ast::AttributeTarget{std::move(name), stream_.expect_name("the name of an attribute")}};
}

ast::Target ExpressionParser::target(std::string_view end, bool with_attribute) {
  ast::TupleTarget tuple;
  tuple.items.push_back(single_target(with_attribute));
  bool comma = false;
  while (stream_.skip_operator(",")) {
    comma = true;
    const Token& token = stream_.current();
    if (ends_list(end) || token.is_operator("=")) break;
    tuple.items.push_back(single_target(with_attribute));
  }
  if (!comma) return std::move(tuple.items.front());
  return {std::move(tuple)};
}

}  // namespace weft::jinja
