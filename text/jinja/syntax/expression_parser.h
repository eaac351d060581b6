#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/syntax/ast.h"
#include "weft/text/jinja/syntax/token_stream.h"

namespace weft::jinja {

struct UnknownName {
  const Token* at = nullptr;
  std::string what;
};

/// The surroundings of an expression, as far as the parser needs them.
struct ParserState {
  std::size_t nesting = 0;
  /// Inside an `if`, where Jinja accepts unknown filters and tests until they are reached.
  bool optional = false;
  /// Unknown filters and tests outside of such an `if`.
  std::vector<UnknownName> unknown;
  /// Inside a loop of the same macro.
  bool in_loop = false;
  /// The macros around the expression, the innermost last.
  std::vector<ast::Macro*> macros;
};

/// One level of ParserState::nesting; past the last level the stream fails.
class NestingLevel {
 public:
  NestingLevel(TokenStream& stream, ParserState& state) : state_(state) {
    if (++state_.nesting > kMaxNesting) {
      stream.fail_at(stream.current(), TextErrc::kTemplateLimit, "nested deeper than ",
                     std::to_string(kMaxNesting), " levels");
    }
  }
  NestingLevel(const NestingLevel&) = delete;
  NestingLevel& operator=(const NestingLevel&) = delete;
  ~NestingLevel() { --state_.nesting; }

 private:
  ParserState& state_;
};

/// Reads expressions by recursive descent, with Jinja's precedence: conditional, or, and, not,
/// comparison, + -, ~, * / // %, **, sign, then the operators after a value. After a mistake,
/// results are null.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& stream, ParserState& state) : stream_(stream), state_(state) {}

  /// Reads one expression; without the conditional form when `conditional` is false.
  ast::ExprPtr expression(bool conditional = true);
  /// Reads an expression or, with commas, a tuple without parentheses. `end` is a name that ends
  /// it.
  ast::ExprPtr expression_list(bool conditional = true, std::string_view end = {});
  /// Reads |a|b(1), or a|b(1) when the first bar has been read.
  std::vector<ast::PostfixOp> filters(bool first_without_bar);
  /// Reads an assignment's target, before "=" or, ended by `end`, before "in".
  ast::Target target(std::string_view end = {}, bool with_attribute = false);
  /// Reads a plain name that can be assigned to.
  std::string assignable_name();

 private:
  using Parse = ast::ExprPtr (ExpressionParser::*)();

  ast::ExprPtr conditional();
  ast::ExprPtr logic(std::string_view word, bool all, Parse operand);
  ast::ExprPtr disjunction();
  ast::ExprPtr conjunction();
  ast::ExprPtr negation();
  ast::ExprPtr comparison();
  ast::ExprPtr sum();
  ast::ExprPtr concatenation();
  ast::ExprPtr product();
  ast::ExprPtr power();
  ast::ExprPtr unary();
  ast::ExprPtr sign_or_primary();
  ast::ExprPtr primary();
  ast::ExprPtr name();
  ast::ExprPtr string();
  ast::ExprPtr parenthesized();
  ast::ExprPtr list();
  ast::ExprPtr mapping();

  bool compare_op(ast::CompareOp& op);
  void postfix(std::vector<ast::PostfixOp>& ops);
  void postfix_or_filter(std::vector<ast::PostfixOp>& ops);
  void dotted(std::vector<ast::PostfixOp>& ops);
  void subscript(std::vector<ast::PostfixOp>& ops);
  void call(std::vector<ast::PostfixOp>& ops);
  void filter(std::vector<ast::PostfixOp>& ops);
  void test(std::vector<ast::PostfixOp>& ops);
  ast::CallArguments arguments();
  void argument(ast::CallArguments& arguments);
  std::string dotted_name(std::string_view what);
  [[nodiscard]] bool ends_list(std::string_view end) const;
  ast::Target single_target(bool with_attribute);

  TokenStream& stream_;
  ParserState& state_;
};

}  // namespace weft::jinja
