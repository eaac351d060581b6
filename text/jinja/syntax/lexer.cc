#include "weft/text/jinja/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/concat.h"
#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/syntax/literal.h"
#include "weft/text/text_error.h"

namespace weft::jinja {
namespace {

using Type = Token::Type;

/// Longer operators come first.
constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (!failed_ && at_ < source_.size()) lex_data();
    if (failed_) return Error{TextErrc::kBadTemplate, std::move(detail_)};
    add(Type::kEnd, source_.size(), {});
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }
  [[nodiscard]] bool looking_at(std::string_view text) const { return rest().starts_with(text); }

  void fail(std::size_t offset, std::string_view what) {
    if (failed_) return;
    failed_ = true;
    detail_ = concat({position(source_, offset), ": ", what});
  }

  void add(Type type, std::size_t offset, std::string text) {
    line_ += static_cast<std::uint32_t>(
        std::ranges::count(source_.substr(counted_, offset - counted_), '\n'));
    counted_ = offset;
    tokens_.push_back({type, offset, line_, std::move(text), {}});
  }

  /// Moves on, and notes for lstrip_blocks whether a line begins at `to`.
  void advance(std::size_t to) {
    line_starting_ = to > at_ && source_[to - 1] == '\n';
    at_ = to;
  }

  [[nodiscard]] std::size_t skip_space(std::size_t at) const {
    return source_.size() - trim_left(source_.substr(at)).size();
  }

  /// Returns the end of the tag "raw" or "endraw" whose block begins at `at`; 0 when it is another
  /// tag. `trim` says whether a line end after it is removed.
  std::size_t raw_tag_end(std::size_t at, std::string_view word, bool trim) const;
  void lex_data();
  void lex_comment(std::size_t begin);
  void lex_raw(std::size_t begin);
  void lex_code(Type end);
  bool lex_code_end(Type end);
  void lex_token();
  void lex_string();
  bool lex_number();
  bool lex_name();
  bool lex_operator();
  bool balance(std::string_view text);
  [[nodiscard]] std::string_view strip_before(std::string_view text, char sign,
                                              bool variable) const;

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;
  std::uint32_t line_ = 1;
  bool line_starting_ = true;
  std::string closers_;  ///< the closing brackets of the open ones
  std::vector<Token> tokens_;
  bool failed_ = false;
  std::string detail_;
};

/// Returns the first "{{", "{%" or "{#" at or after `from`.
std::size_t find_tag(std::string_view source, std::size_t from) {
  std::size_t at = source.find('{', from);
  while (at != std::string_view::npos) {
    const char next = at + 1 < source.size() ? source[at + 1] : '\0';
    if (next == '{' || next == '%' || next == '#') break;
    at = source.find('{', at + 1);
  }
  return at;
}

char sign_at(std::string_view source, std::size_t at) {
  if (at >= source.size()) return 0;
  return source[at] == '-' || source[at] == '+' ? source[at] : '\0';
}

std::string_view Lexer::strip_before(std::string_view text, char sign, bool variable) const {
  if (sign == '-') return trim_right(text);
  if (sign == '+' || variable) return text;
  const std::size_t line_begin = text.rfind('\n') + 1;
  if (line_begin == 0 && !line_starting_) return text;
  const bool blank = trim_left(text.substr(line_begin)).empty();
  return blank ? text.substr(0, line_begin) : text;
}

std::size_t Lexer::raw_tag_end(std::size_t at, std::string_view word, bool trim) const {
  at += 2;
  if (sign_at(source_, at) != 0) ++at;
  at = skip_space(at);
  if (!source_.substr(at).starts_with(word)) return 0;
  at = skip_space(at + word.size());
  const std::string_view tail = source_.substr(at);
  if (tail.starts_with("-%}")) return skip_space(at + 3);
  if (trim && tail.starts_with("+%}")) return at + 3;
  if (!tail.starts_with("%}")) return 0;
  at += 2;
  return trim && at < source_.size() && source_[at] == '\n' ? at + 1 : at;
}

void Lexer::lex_data() {
  const std::size_t tag = find_tag(source_, at_);
  if (tag == std::string_view::npos) {
    add(Type::kData, at_, std::string(rest()));
    return advance(source_.size());
  }
  const char sign = sign_at(source_, tag + 2);
  const std::string_view text =
      strip_before(source_.substr(at_, tag - at_), sign, source_[tag + 1] == '{');
  if (!text.empty()) add(Type::kData, at_, std::string(text));
  const std::size_t after = tag + (sign == 0 ? 2 : 3);
  if (source_[tag + 1] == '#') {
    advance(after);
    return lex_comment(tag);
  }
  const bool block = source_[tag + 1] == '%';
  if (const std::size_t end = block ? raw_tag_end(tag, "raw", false) : 0; end != 0) {
    advance(end);
    return lex_raw(tag);
  }
  add(block ? Type::kBlockBegin : Type::kOutputBegin, tag, {});
  advance(after);
  lex_code(block ? Type::kBlockEnd : Type::kOutputEnd);
}

void Lexer::lex_comment(std::size_t begin) {
  const std::size_t end = source_.find("#}", at_);
  if (end == std::string_view::npos) return fail(begin, "the comment does not end");
  const char sign = end > at_ ? sign_at(source_, end - 1) : '\0';
  std::size_t after = end + 2;
  if (sign == '-') {
    after = skip_space(after);
  } else if (sign == 0 && after < source_.size() && source_[after] == '\n') {
    ++after;
  }
  advance(after);
}

void Lexer::lex_raw(std::size_t begin) {
  for (std::size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
       tag = source_.find("{%", tag + 2)) {
    const std::size_t end = raw_tag_end(tag, "endraw", true);
    if (end == 0) continue;
    const std::string_view text =
        strip_before(source_.substr(at_, tag - at_), sign_at(source_, tag + 2), false);
    if (!text.empty()) add(Type::kData, at_, std::string(text));
    return advance(end);
  }
  fail(begin, "the raw block does not end");
}

void Lexer::lex_code(Type end) {
  while (!failed_) {
    if (closers_.empty() && lex_code_end(end)) return;
    advance(skip_space(at_));
    if (closers_.empty() && lex_code_end(end)) return;
    if (at_ == source_.size()) return;  // the parser reports the missing end
    lex_token();
  }
}

bool Lexer::lex_code_end(Type end) {
  const bool block = end == Type::kBlockEnd;
  const std::string_view mark = block ? "%}" : "}}";
  const bool minus = looking_at("-") && rest().substr(1).starts_with(mark);
  const bool plus = block && looking_at("+") && rest().substr(1).starts_with(mark);
  if (!minus && !plus && !looking_at(mark)) return false;
  add(end, at_, {});
  std::size_t after = at_ + mark.size() + (minus || plus ? 1 : 0);
  if (minus) {
    after = skip_space(after);
  } else if (block && !plus && after < source_.size() && source_[after] == '\n') {
    ++after;
  }
  advance(after);
  return true;
}

void Lexer::lex_token() {
  if (lex_number() || lex_name()) return;
  if (looking_at("'") || looking_at("\"")) return lex_string();
  if (lex_operator()) return;
  fail(at_, "unexpected character");
}

void Lexer::lex_string() {
  const std::size_t bytes = quoted_length(rest());
  if (bytes == 0) return fail(at_, "the string does not end");
  auto text = unescape(rest().substr(1, bytes - 2));
  if (!text) return fail(at_, "the string has a bad escape");
  add(Type::kString, at_, std::move(*text));
  advance(at_ + bytes);
}

bool Lexer::lex_number() {
  const NumberLiteral number = read_number(rest(), at_ > 0 && source_[at_ - 1] == '.');
  if (number.bytes == 0) return false;
  if (std::holds_alternative<std::monostate>(number.value)) {
    fail(at_, "the number is out of range");
    return true;
  }
  const bool whole = std::holds_alternative<std::int64_t>(number.value);
  add(whole ? Type::kInteger : Type::kFloat, at_, std::string(rest().substr(0, number.bytes)));
  tokens_.back().number = number.value;
  advance(at_ + number.bytes);
  return true;
}

bool Lexer::lex_name() {
  std::size_t end = at_;
  while (end < source_.size()) {
    const Utf8Char next = utf8_at(source_.substr(end));
    if (!is_identifier_part(next.code)) break;
    end += next.length;
  }
  if (end == at_) return false;
  if (end - at_ > kMaxNameBytes) fail(at_, "the name is too long");
  add(Type::kName, at_, std::string(source_.substr(at_, end - at_)));
  advance(end);
  return true;
}

bool Lexer::lex_operator() {
  const auto found =
      std::ranges::find_if(kOperators, [this](std::string_view text) { return looking_at(text); });
  if (found == kOperators.end()) return false;
  if (!balance(*found)) return true;
  add(Type::kOperator, at_, std::string(*found));
  advance(at_ + found->size());
  return true;
}

bool Lexer::balance(std::string_view text) {
  const char c = text.front();
  if (c == '(') closers_ += ')';
  if (c == '[') closers_ += ']';
  if (c == '{') closers_ += '}';
  if (c != ')' && c != ']' && c != '}') return true;
  if (closers_.empty() || closers_.back() != c) {
    fail(at_, concat({"unexpected '", text, "'"}));
    return false;
  }
  closers_.pop_back();
  return true;
}

}  // namespace

std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t at = 0; at < source.size(); ++at) {
    const bool pair = source[at] == '\r' && at + 1 < source.size() && source[at + 1] == '\n';
    if (pair) ++at;
    out += source[at] == '\r' ? '\n' : source[at];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string position(std::string_view source, std::size_t offset) {
  const std::string_view before = source.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t column = count_code_points(before.substr(line_begin)) + 1;
  return concat({std::to_string(line), ":", std::to_string(column)});
}

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace weft::jinja
