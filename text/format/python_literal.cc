#include "weft/text/format/python_literal.h"

#include <string_view>

#include "weft/core/text/hex_value.h"
#include "weft/core/text/utf8.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

// Longer than any real number.
constexpr std::size_t kMaxPythonWord = 64;
// The most white space between a text and the character after it.
constexpr std::size_t kMaxPythonSpaces = 64;

bool is_python_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '+' || c == '-' || c == '.';
}

/// Returns the JSON of a number or a name; empty: there is none.
std::string json_of_word(std::string_view word) {
  if (word == "True" || word == "true") return "true";
  if (word == "False" || word == "false") return "false";
  if (word == "None" || word == "null") return "null";
  std::string number;
  for (const char c : word) {
    const bool of_number = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' ||
                           ((c == 'e' || c == 'E') && !number.empty());
    if (c == '_') continue;
    if (!of_number) return {};
    number.push_back(c);
  }
  if (number.starts_with('+')) number.erase(0, 1);
  while (number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9') {
    number.erase(0, 1);
  }
  if (number.starts_with('.')) number.insert(0, "0");
  if (number.starts_with("-.")) number.insert(1, "0");
  if (number.ends_with('.')) number.push_back('0');
  return number == "-" ? std::string() : number;
}

}  // namespace

PythonLiteral::Step PythonLiteral::push(char c, std::string& out) {
  if (after_quote_) return push_after_quote(c, out);
  if (quote_ != 0) return push_in_text(c, out);
  if (!word_.empty()) return push_word(c, out);
  return push_plain(c, out);
}

PythonLiteral::Step PythonLiteral::push_in_text(char c, std::string& out) {
  if (digits_left_ > 0) return push_code(c, out);
  if (escaped_) return push_escaped(c, out);
  if (c == quote_) return push_quote(out);
  for (; quotes_ > 0; --quotes_) append_json_escaped({&quote_, 1}, out);
  fresh_ = false;
  if (c == '\\') {
    escaped_ = true;
    return Step::kMore;
  }
  append_json_escaped({&c, 1}, out);
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::push_quote(std::string& out) {
  if (!triple_) {
    after_quote_ = true;
    spaces_.clear();
    return Step::kMore;
  }
  if (++quotes_ < 3) return Step::kMore;
  triple_ = false;
  quotes_ = 0;
  quote_ = 0;
  out.push_back('"');
  return after_value();
}

PythonLiteral::Step PythonLiteral::push_after_quote(char c, std::string& out) {
  if (is_markup_space(c) && spaces_.size() < kMaxPythonSpaces) {
    spaces_.push_back(c);
    return Step::kMore;
  }
  after_quote_ = false;
  if (c == ',' || c == ':' || c == ')' || c == ']' || c == '}') {
    quote_ = 0;
    out.push_back('"');
    return open_.empty() ? Step::kAfter : push_plain(c, out);
  }
  if (fresh_ && c == quote_ && spaces_.empty()) {
    triple_ = true;
    return Step::kMore;
  }
  fresh_ = false;
  append_json_escaped({&quote_, 1}, out);
  append_json_escaped(spaces_, out);
  return push_in_text(c, out);
}

PythonLiteral::Step PythonLiteral::push_escaped(char c, std::string& out) {
  constexpr std::string_view kNames = "abfnrtv\\'\"";
  constexpr std::string_view kBytes = "\a\b\f\n\r\t\v\\'\"";
  escaped_ = false;
  code_ = 0;
  if (c == 'x') digits_left_ = 2;
  if (c == 'u') digits_left_ = 4;
  if (c == 'U') digits_left_ = 8;
  if (digits_left_ > 0 || c == '\n') return Step::kMore;
  const std::size_t which = kNames.find(c);
  if (which == std::string_view::npos) append_json_escaped("\\", out);
  const char byte = which == std::string_view::npos ? c : kBytes[which];
  append_json_escaped({&byte, 1}, out);
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::push_code(char c, std::string& out) {
  const int value = hex_value(c);
  if (value < 0) return Step::kBroken;
  code_ = code_ * 16 + static_cast<char32_t>(value);
  if (--digits_left_ > 0) return Step::kMore;
  append_json_escaped(to_utf8(is_scalar_value(code_) ? code_ : kReplacementCharacter), out);
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::push_word(char c, std::string& out) {
  if (is_python_word(c)) {
    word_.push_back(c);
    return word_.size() > kMaxPythonWord ? Step::kBroken : Step::kMore;
  }
  const std::string json = json_of_word(word_);
  word_.clear();
  if (json.empty()) return Step::kBroken;
  out.append(json);
  return open_.empty() ? Step::kAfter : push_plain(c, out);
}

PythonLiteral::Step PythonLiteral::push_plain(char c, std::string& out) {
  if (is_markup_space(c)) return Step::kMore;
  if (!open_.empty()) {
    if (c == ',') {
      comma_ = true;
      return Step::kMore;
    }
    if (c == ':') {
      out.append(": ");
      return Step::kMore;
    }
    if (c == ']' || c == ')' || c == '}') return close(c, out);
  }
  return begin_value(c, out);
}

PythonLiteral::Step PythonLiteral::begin_value(char c, std::string& out) {
  if (comma_) out.append(", ");
  comma_ = false;
  if (c == '"' || c == '\'') {
    quote_ = c;
    fresh_ = true;
    out.push_back('"');
    return Step::kMore;
  }
  if (is_python_word(c)) {
    word_.push_back(c);
    return Step::kMore;
  }
  if (open_.size() == kMaxDepth) return Step::kBroken;
  if (c == '[' || c == '(') {
    open_.push_back(c == '[' ? ']' : ')');
    out.push_back('[');
    return Step::kMore;
  }
  if (c != '{') return Step::kBroken;
  open_.push_back('}');
  out.push_back('{');
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::close(char c, std::string& out) {
  if (open_.back() != c) return Step::kBroken;
  open_.pop_back();
  out.push_back(c == '}' ? '}' : ']');
  comma_ = false;
  return after_value();
}

}  // namespace weft
