#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/jinja/concat.h"
#include "weft/text/jinja/syntax/lexer.h"
#include "weft/text/text_error.h"

namespace weft::jinja {

/// The tokens of a template and the first mistake found in them. A mistake moves the stream to its
/// end, so that every reader stops.
class TokenStream {
 public:
  TokenStream(std::string_view source, std::vector<Token> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& look() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  [[nodiscard]] bool at_end() const { return current().type == Token::Type::kEnd; }

  /// Moves on and returns the passed token.
  const Token& next() {
    const Token& token = tokens_[at_];
    if (!at_end()) ++at_;
    return token;
  }

  bool skip_name(std::string_view name) { return current().is_name(name) && (next(), true); }
  bool skip_operator(std::string_view text) {
    return current().is_operator(text) && (next(), true);
  }

  void expect_operator(std::string_view text) {
    if (!skip_operator(text)) fail("expected '", text, "'");
  }
  void expect(Token::Type type, std::string_view what) {
    if (current().type != type || at_end()) fail("expected ", what);
    next();
  }
  /// Returns an empty name after a mistake.
  std::string expect_name(std::string_view what) {
    if (current().type != Token::Type::kName) fail("expected ", what);
    return next().text;
  }

  template <class... Parts>
  void fail(const Parts&... parts) {
    fail_at(current(), TextErrc::kBadTemplate, parts...);
  }
  template <class... Parts>
  void fail_at(const Token& token, TextErrc code, const Parts&... parts) {
    if (!failed()) {
      error_ = Error{code, concat({position(source_, token.offset), ": ", parts...})};
    }
    at_ = tokens_.size() - 1;
  }
  [[nodiscard]] bool failed() const { return error_.code.failed(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  std::string_view source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Error error_;
};

}  // namespace weft::jinja
