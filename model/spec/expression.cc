#include "weft/model/spec/expression.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "weft/model/model_error.h"

namespace weft {

using boost::json::value;

struct Expression::Node {
  enum class Kind : std::uint8_t {
    kLiteral,
    kName,
    kList,
    kIndex,
    kUnary,
    kBinary,
    kTernary,
    kCall
  };
  Kind kind = Kind::kLiteral;
  std::string word;  // a name, an operator or a function
  value literal;
  std::vector<Node> parts;
};

namespace {

using Node = Expression::Node;

// People write specs: deeper nesting is a mistake or an attack on the stack.
constexpr int kMaxExpressionDepth = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Node> parse() {
    auto root = ternary();
    if (!root) return root;
    skip_space();
    if (at_ != text_.size()) return failure("an operator is missing");
    return root;
  }

 private:
  // The operators of each level of the grammar, from the loosest. They associate to the left.
  static constexpr std::array<std::array<std::string_view, 7>, 6> kLevels = {{
      {"??"},
      {"or"},
      {"and"},
      {"==", "!=", "<=", ">=", "<", ">", "in"},
      {"+", "-"},
      {"//", "*", "/", "%"},
  }};
  static constexpr std::size_t kNotLevel = 3;  // `not` binds tighter than `and`

  [[nodiscard]] Error failure(std::string_view what) const {
    std::string detail("'");
    detail.append(text_).append("', column ").append(std::to_string(at_ + 1)).append(": ");
    return {ModelErrc::kBadSpec, detail.append(what)};
  }

  void skip_space() {
    while (at_ < text_.size() && (std::isspace(static_cast<unsigned char>(text_[at_])) != 0)) ++at_;
  }

  static bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }

  bool take(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    const std::size_t end = at_ + word.size();
    const bool is_word = std::isalpha(static_cast<unsigned char>(word[0])) != 0;
    if (is_word && end < text_.size() && in_name(text_[end])) return false;
    const std::string_view next = text_.substr(end, 1);
    if (word == "*" && next == "*") return false;  // the power binds tighter
    if (word == "?" && next == "?") return false;
    at_ = end;
    return true;
  }

  Result<Node> ternary() {
    if (++depth_ > kMaxExpressionDepth) return failure("nested too deeply");
    auto condition = binary(0);
    if (condition && take("?")) {
      auto yes = ternary();
      if (!yes) return yes;
      if (!take(":")) return failure("':' expected");
      auto no = ternary();
      if (!no) return no;
      condition = Node{Node::Kind::kTernary, "?", {}, {*condition, *yes, *no}};
    }
    --depth_;
    return condition;
  }

  Result<Node> binary(std::size_t level) {
    if (level == kLevels.size()) return unary();
    if (level == kNotLevel && take("not")) {
      if (++depth_ > kMaxExpressionDepth) return failure("nested too deeply");
      auto part = binary(kNotLevel);
      --depth_;
      if (!part) return part;
      return Node{Node::Kind::kUnary, "not", {}, {*part}};
    }
    auto left = binary(level + 1);
    while (left) {
      const std::string_view found = take_operator(level);
      if (found.empty()) break;
      auto right = binary(level + 1);
      if (!right) return right;
      left = Node{Node::Kind::kBinary, std::string(found), {}, {*left, *right}};
    }
    return left;
  }

  std::string_view take_operator(std::size_t level) {
    for (const std::string_view word : kLevels[level]) {
      if (!word.empty() && take(word)) return word;
    }
    return {};
  }

  Result<Node> unary() {
    if (!take("-")) return power();
    if (++depth_ > kMaxExpressionDepth) return failure("nested too deeply");
    auto part = unary();
    --depth_;
    if (!part) return part;
    return Node{Node::Kind::kUnary, "-", {}, {*part}};
  }

  Result<Node> power() {
    auto base = postfix();
    if (!base || !take("**")) return base;
    if (++depth_ > kMaxExpressionDepth) return failure("nested too deeply");
    auto exponent = unary();
    --depth_;
    if (!exponent) return exponent;
    return Node{Node::Kind::kBinary, "**", {}, {*base, *exponent}};
  }

  Result<Node> postfix() {
    auto base = primary();
    while (base && take("[")) {
      auto index = ternary();
      if (!index) return index;
      if (!take("]")) return failure("']' expected");
      base = Node{Node::Kind::kIndex, "[]", {}, {*base, *index}};
    }
    return base;
  }

  Result<Node> primary() {
    skip_space();
    if (at_ == text_.size()) return failure("a value is missing");
    const char c = text_[at_];
    if (take("(")) {
      auto inner = ternary();
      if (inner && !take(")")) return failure("')' expected");
      return inner;
    }
    if (take("[")) return list(Node{Node::Kind::kList, {}, {}, {}}, "]");
    if (c == '\'') return text_literal();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') return name();
    return failure("a value is missing");
  }

  Result<Node> list(Node node, std::string_view close) {
    if (take(close)) return node;
    while (true) {
      auto part = ternary();
      if (!part) return part;
      node.parts.push_back(std::move(*part));
      if (take(close)) return node;
      if (!take(",")) return failure("',' expected");
    }
  }

  Result<Node> text_literal() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return failure("the string does not end");
    Node node{Node::Kind::kLiteral, {}, value(text_.substr(at_ + 1, end - at_ - 1)), {}};
    at_ = end + 1;
    return node;
  }

  Result<Node> number() {
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    double real = 0;
    const auto parsed = std::from_chars(begin, end, real);
    if (parsed.ec != std::errc()) return failure("not a number");
    at_ += static_cast<std::size_t>(parsed.ptr - begin);
    std::int64_t whole = 0;
    const auto integer = std::from_chars(begin, parsed.ptr, whole);
    const bool is_whole = integer.ec == std::errc() && integer.ptr == parsed.ptr;
    return Node{Node::Kind::kLiteral, {}, is_whole ? value(whole) : value(real), {}};
  }

  Result<Node> name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    if (word == "true" || word == "false") {
      return Node{Node::Kind::kLiteral, {}, value(word == "true"), {}};
    }
    if (word == "null") return Node{};
    if (take("(")) return list(Node{Node::Kind::kCall, std::move(word), {}, {}}, ")");
    return Node{Node::Kind::kName, std::move(word), {}, {}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string describe(const Node& node, const value& found) {
  if (node.kind == Node::Kind::kName) {
    return node.word + (found.is_null() ? " (missing)" : " = " + boost::json::serialize(found));
  }
  return boost::json::serialize(found);
}

Error wrong_type(const Node& node, const value& found, std::string_view wanted) {
  return {ModelErrc::kBadConfig,
          describe(node, found) + " where " + std::string(wanted) + " is needed"};
}

std::optional<double> as_number(const value& v) {
  if (v.is_int64()) return static_cast<double>(v.get_int64());
  if (v.is_uint64()) return static_cast<double>(v.get_uint64());
  if (v.is_double()) return v.get_double();
  return std::nullopt;
}

bool truth(const value& v) {
  if (v.is_null()) return false;
  if (v.is_bool()) return v.get_bool();
  if (const auto number = as_number(v)) return *number != 0;
  if (v.is_string()) return !v.get_string().empty();
  if (v.is_array()) return !v.get_array().empty();
  return !v.get_object().empty();
}

// Integers below this are exact as doubles, so arithmetic in double gives exact results.
constexpr double kExact = 9007199254740992.0;

value number_value(double result, bool prefer_integer) {
  if (prefer_integer && std::trunc(result) == result && std::fabs(result) < kExact) {
    return value(static_cast<std::int64_t>(result));
  }
  return value(result);
}

bool is_integer(const value& v) { return v.is_int64() || v.is_uint64(); }

bool equal(const value& a, const value& b) {
  const auto x = as_number(a);
  const auto y = as_number(b);
  return x && y ? *x == *y : a == b;
}

class Evaluator {
 public:
  explicit Evaluator(const ExpressionScope& scope) : scope_(scope) {}

  Result<value> run(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kLiteral:
        return node.literal;
      case Node::Kind::kName: {
        const value* found = scope_.find(node.word);
        return found == nullptr ? value() : *found;
      }
      case Node::Kind::kList:
        return list(node);
      case Node::Kind::kIndex:
        return index(node);
      case Node::Kind::kUnary:
        return unary(node);
      case Node::Kind::kBinary:
        return binary(node);
      case Node::Kind::kTernary: {
        auto condition = run(node.parts[0]);
        if (!condition) return condition;
        return run(node.parts[truth(*condition) ? 1 : 2]);
      }
      case Node::Kind::kCall:
        return call(node);
    }
    return value();
  }

 private:
  Result<value> list(const Node& node) {
    boost::json::array items;
    for (const Node& part : node.parts) {
      auto item = run(part);
      if (!item) return item;
      items.push_back(std::move(*item));
    }
    return value(std::move(items));
  }

  Result<value> index(const Node& node) {
    auto base = run(node.parts[0]);
    if (!base) return base;
    auto key = run(node.parts[1]);
    if (!key) return key;
    if (base->is_object() && key->is_string()) {
      const auto* found = base->get_object().if_contains(key->get_string());
      return found == nullptr ? value() : *found;
    }
    if (base->is_object() && is_integer(*key)) {
      const auto* found = base->get_object().if_contains(boost::json::serialize(*key));
      return found == nullptr ? value() : *found;
    }
    if (base->is_null()) return value();
    if (!base->is_array()) return wrong_type(node.parts[0], *base, "a list");
    const auto number = as_number(*key);
    const auto& items = base->get_array();
    if (!number || *number < 0 || *number >= static_cast<double>(items.size())) {
      return wrong_type(node.parts[1], *key, "an index below " + std::to_string(items.size()));
    }
    return items[static_cast<std::size_t>(*number)];
  }

  Result<double> number_of(const Node& node) {
    const auto found = run(node);
    if (!found) return found.error();
    const auto number = as_number(*found);
    if (!number) return wrong_type(node, *found, "a number");
    return *number;
  }

  Result<value> unary(const Node& node) {
    auto part = run(node.parts[0]);
    if (!part) return part;
    if (node.word == "not") return value(!truth(*part));
    const auto number = as_number(*part);
    if (!number) return wrong_type(node.parts[0], *part, "a number");
    return number_value(-*number, is_integer(*part));
  }

  Result<value> binary(const Node& node) {
    auto left = run(node.parts[0]);
    if (!left) return left;
    if (node.word == "??") return left->is_null() ? run(node.parts[1]) : left;
    if (node.word == "or") return truth(*left) ? left : run(node.parts[1]);
    if (node.word == "and") return truth(*left) ? run(node.parts[1]) : left;
    auto right = run(node.parts[1]);
    if (!right) return right;
    if (node.word == "==") return value(equal(*left, *right));
    if (node.word == "!=") return value(!equal(*left, *right));
    if (node.word == "in") return contains(node, *right, *left);
    return arithmetic(node, *left, *right);
  }

  static Result<value> contains(const Node& node, const value& where, const value& what) {
    if (where.is_null()) return value(false);
    if (where.is_object() && what.is_string()) {
      return value(where.get_object().contains(what.get_string()));
    }
    if (!where.is_array()) return wrong_type(node.parts[1], where, "a list");
    for (const value& item : where.get_array()) {
      if (equal(item, what)) return value(true);
    }
    return value(false);
  }

  static Result<value> arithmetic(const Node& node, const value& left, const value& right) {
    const auto a = as_number(left);
    const auto b = as_number(right);
    if (!a) return wrong_type(node.parts[0], left, "a number");
    if (!b) return wrong_type(node.parts[1], right, "a number");
    const bool integers = is_integer(left) && is_integer(right);
    const std::string& op = node.word;
    if (op == "<") return value(*a < *b);
    if (op == "<=") return value(*a <= *b);
    if (op == ">") return value(*a > *b);
    if (op == ">=") return value(*a >= *b);
    if (op == "+") return number_value(*a + *b, integers);
    if (op == "-") return number_value(*a - *b, integers);
    if (op == "*") return number_value(*a * *b, integers);
    if (op == "**") return number_value(std::pow(*a, *b), integers);
    if (*b == 0) return wrong_type(node.parts[1], right, "a divisor that is not 0");
    if (op == "/") return number_value(*a / *b, integers);
    const double quotient = std::floor(*a / *b);
    if (op == "//") return number_value(quotient, true);
    return number_value(*a - quotient * *b, integers);
  }

  Result<value> call(const Node& node) {
    const std::string& name = node.word;
    if (name == "given") return given(node);
    if (name == "has" || name == "rows" || name == "columns" || name == "numbers") {
      return tensor_call(node);
    }
    if (name == "pick") return pick(node);
    if (name == "len") return length(node);
    if (name == "min" || name == "max") return extreme(node);
    if (node.parts.size() != 1) return bad_call(node);
    const auto x = number_of(node.parts[0]);
    if (!x) return x.error();
    if (name == "sqrt") return value(std::sqrt(*x));
    if (name == "log") return value(std::log(*x));
    if (name == "floor") return number_value(std::floor(*x), true);
    if (name == "ceil") return number_value(std::ceil(*x), true);
    if (name == "round") return number_value(std::nearbyint(*x), true);
    if (name == "int") return number_value(std::trunc(*x), true);
    return bad_call(node);
  }

  Result<value> given(const Node& node) {
    if (node.parts.size() != 1) return bad_call(node);
    auto field = run(node.parts[0]);
    if (!field) return field;
    if (!field->is_string()) return wrong_type(node.parts[0], *field, "a field's name");
    return value(scope_.states(field->get_string()));
  }

  Result<value> tensor_call(const Node& node) {
    if (node.parts.size() != 1) return bad_call(node);
    auto tensor = run(node.parts[0]);
    if (!tensor) return tensor;
    if (!tensor->is_string()) return wrong_type(node.parts[0], *tensor, "a tensor's name");
    if (node.word == "numbers") return scope_.numbers_of(tensor->get_string());
    const auto shape = scope_.shape_of(tensor->get_string());
    if (node.word == "has") return value(!shape.empty());
    const std::size_t axis = node.word == "rows" ? 0 : 1;
    return axis < shape.size() ? value(shape[axis]) : value();
  }

  Result<value> pick(const Node& node) {
    if (node.parts.size() != 2) return bad_call(node);
    auto base = run(node.parts[0]);
    return base && base->is_array() ? index(node) : base;
  }

  Result<value> length(const Node& node) {
    if (node.parts.size() != 1) return bad_call(node);
    auto list = run(node.parts[0]);
    if (!list) return list;
    if (!list->is_array()) return wrong_type(node.parts[0], *list, "a list");
    return value(list->get_array().size());
  }

  Result<value> extreme(const Node& node) {
    if (node.parts.empty()) return bad_call(node);
    value best;
    for (const Node& part : node.parts) {
      auto item = run(part);
      if (!item) return item;
      const auto number = as_number(*item);
      if (!number) return wrong_type(part, *item, "a number");
      const bool better = best.is_null() || (node.word == "min" ? *number < *as_number(best)
                                                                : *number > *as_number(best));
      if (better) best = std::move(*item);
    }
    return best;
  }

  static Error bad_call(const Node& node) {
    return {ModelErrc::kBadSpec,
            node.word + "() with " + std::to_string(node.parts.size()) + " arguments is not known"};
  }

  const ExpressionScope& scope_;
};

void collect_names(const Node& node, std::vector<std::string>& names) {
  const bool known = std::ranges::find(names, node.word) != names.end();
  if (node.kind == Node::Kind::kName && !known) names.push_back(node.word);
  for (const Node& part : node.parts) collect_names(part, names);
}

}  // namespace

Result<Expression> Expression::parse(std::string_view text) {
  auto root = Parser(text).parse();
  if (!root) return root.error();
  return Expression(std::make_shared<const Node>(std::move(*root)));
}

std::string Expression::names_with_values(const ExpressionScope& scope) const {
  std::vector<std::string> names;
  collect_names(*root_, names);
  std::string text;
  for (const std::string& name : names) {
    const value* found = scope.find(name);
    text.append(text.empty() ? "" : ", ").append(name).append(" = ");
    text.append(found == nullptr ? "null" : boost::json::serialize(*found));
  }
  return text;
}

Result<value> Expression::evaluate(const ExpressionScope& scope) const {
  return Evaluator(scope).run(*root_);
}

}  // namespace weft
