#include "weft/text/tokenizer/split/regex_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/text/text_error.h"

namespace weft {
namespace {

// Oniguruma's \w: letters, marks, decimal digits, connectors, and the numbers of Latin-1.
constexpr std::string_view kWordItems =
    R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view kHexItems = "0-9a-fA-F";

// A bound on nested classes, because they come from a file and each level is a call.
constexpr int kMaxDepth = 32;

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kLongNames = {{
    {"Letter", "L"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Punctuation", "P"},
    {"Symbol", "S"},
    {"Separator", "Z"},
    {"Other", "C"},
    {"Alpha", "Alphabetic"},
    {"Digit", "Nd"},
    {"Space", "White_Space"},
    {"Upper", "Uppercase"},
    {"Lower", "Lowercase"},
}};

/// Writes \b and \B in terms of this \w, which differs from PCRE2's.
std::string word_boundary(bool wanted) {
  const std::string word = std::string("[").append(kWordItems).append("]");
  const auto around = [&](std::string_view before, std::string_view after) {
    return std::string(before).append(word).append(")").append(after).append(word).append(")");
  };
  return std::string("(?:")
      .append(around("(?<=", wanted ? "(?!" : "(?="))
      .append("|")
      .append(around("(?<!", wanted ? "(?=" : "(?!"))
      .append(")");
}

/// One side of "&&" in a class.
struct Operand {
  std::string items;
  bool is_negated_class = false;

  [[nodiscard]] std::string text() const {
    return std::string(is_negated_class ? "[^" : "[").append(items).append("]");
  }
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> run() {
    while (at_ < in_.size()) {
      Result<void> done = step();
      if (!done) return done.error();
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] Error unsupported(std::string_view what) const {
    return {make_error_code(TextErrc::kUnknownTokenizerPart), "pattern \"" + std::string(in_) +
                                                                  "\" at " + std::to_string(at_) +
                                                                  ": " + std::string(what)};
  }

  [[nodiscard]] bool looking_at(std::string_view text) const {
    return in_.substr(at_).starts_with(text);
  }

  Result<void> step() {
    const char c = in_[at_];
    if (c == '\\') {
      Result<std::string> escape = read_escape(false);
      if (!escape) return escape.error();
      out_ += *escape;
    } else if (c == '[') {
      Result<std::string> text = read_class();
      if (!text) return text.error();
      out_ += *text;
    } else if (looking_at("(?")) {
      read_options();
    } else if (looking_at("{,")) {
      out_ += "{0,";
      at_ += 2;
    } else {
      out_ += c;
      ++at_;
    }
    return {};
  }

  /// Reads "(?" and option letters; step() reads the rest.
  void read_options() {
    out_ += "(?";
    at_ += 2;
    std::size_t end = at_;
    while (end < in_.size() &&
           (in_[end] == 'i' || in_[end] == 'm' || in_[end] == 'x' || in_[end] == '-')) {
      ++end;
    }
    if (end == in_.size() || (in_[end] != ':' && in_[end] != ')')) return;
    for (; at_ < end; ++at_) out_ += in_[at_] == 'm' ? 's' : in_[at_];
  }

  Result<std::string> read_escape(bool in_class) {
    if (at_ + 1 >= in_.size()) return unsupported("a lone backslash");
    const char c = in_[at_ + 1];
    const auto items = [&](std::string_view text) {
      at_ += 2;
      return in_class ? std::string(text) : std::string("[").append(text).append("]");
    };
    switch (c) {
      case 's':
        at_ += 2;
        return std::string(R"(\p{White_Space})");
      case 'S':
        at_ += 2;
        return std::string(R"(\P{White_Space})");
      case 'w':
        return items(kWordItems);
      case 'h':
        return items(kHexItems);
      case 'W':
      case 'H':
        if (in_class) return unsupported("a negated class of characters within a class");
        at_ += 2;
        return std::string("[^").append(c == 'W' ? kWordItems : kHexItems).append("]");
      case 'b':
      case 'B':
        if (in_class) break;
        at_ += 2;
        return word_boundary(c == 'b');
      case 'u':
        return read_unicode_escape();
      case 'p':
      case 'P':
        return read_property();
      default:
        break;
    }
    std::string text(in_.substr(at_, 2));
    at_ += 2;
    return text;
  }

  Result<std::string> read_unicode_escape() {
    const std::string_view digits = in_.substr(at_ + 2, 4);
    const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    if (digits.size() != 4 || !std::ranges::all_of(digits, is_hex)) {
      return unsupported("\\u wants four hexadecimal digits");
    }
    at_ += 6;
    return std::string("\\x{").append(digits).append("}");
  }

  Result<std::string> read_property() {
    const std::size_t close = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == std::string_view::npos) {
      std::string text(in_.substr(at_, 2));
      at_ += 2;
      return text;
    }
    std::string_view name = in_.substr(at_ + 3, close - at_ - 3);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    const auto* const row =
        std::ranges::find(kLongNames, name, &decltype(kLongNames)::value_type::first);
    if (row != kLongNames.end()) name = row->second;
    std::string text(in_.substr(at_, 3));
    if (negated) text += '^';
    text.append(name).append("}");
    at_ = close + 1;
    return text;
  }

  /// Reads a class with everything in it, from its "[" to after its "]".
  Result<std::string> read_class() {
    std::vector<Operand> operands;
    Result<bool> negated = read_operands(operands);
    if (!negated) return negated.error();
    if (operands.size() == 1) {
      Operand& only = operands.front();
      only.is_negated_class = only.is_negated_class != *negated;
      return only.text();
    }
    std::string all;
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
      all.append("(?=").append(operands[i].text()).append(")");
    }
    all += operands.back().text();
    return std::string("(?:")
        .append(*negated ? std::string("(?!").append(all).append(")(?s:.)") : all)
        .append(")");
  }

  /// Returns whether the class is negated; appends its operands to `operands`.
  Result<bool> read_operands(std::vector<Operand>& operands) {
    if (++depth_ > kMaxDepth) return unsupported("classes are nested too deeply");
    ++at_;
    const bool negated = looking_at("^");
    if (negated) ++at_;
    operands.emplace_back();
    for (bool first = true;; first = false) {
      if (at_ >= in_.size()) return unsupported("a class is not closed");
      if (in_[at_] == ']' && !first) break;
      if (looking_at("&&")) {
        at_ += 2;
        operands.emplace_back();
        continue;
      }
      Result<void> done = read_item(operands.back());
      if (!done) return done.error();
    }
    ++at_;
    --depth_;
    return negated;
  }

  Result<void> read_item(Operand& operand) {
    if (operand.is_negated_class) return unsupported("more beside a negated class");
    if (in_[at_] == '\\') {
      Result<std::string> escape = read_escape(true);
      if (!escape) return escape.error();
      operand.items += *escape;
    } else if (looking_at("[:")) {
      const std::size_t close = in_.find(":]", at_);
      if (close == std::string_view::npos) return unsupported("a class is not closed");
      operand.items += in_.substr(at_, close + 2 - at_);
      at_ = close + 2;
    } else if (in_[at_] == '[') {
      return read_nested(operand);
    } else {
      if (in_[at_] == ']') operand.items += '\\';
      operand.items += in_[at_++];
    }
    return {};
  }

  Result<void> read_nested(Operand& operand) {
    std::vector<Operand> nested;
    Result<bool> negated = read_operands(nested);
    if (!negated) return negated.error();
    if (nested.size() != 1) return unsupported("an intersection within a class");
    const bool is_negated = nested.front().is_negated_class != *negated;
    if (is_negated && !operand.items.empty()) return unsupported("more beside a negated class");
    operand.is_negated_class = is_negated;
    operand.items += nested.front().items;
    return {};
  }

  std::string_view in_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> pcre2_pattern(std::string_view oniguruma) {
  return Translator(oniguruma).run();
}

}  // namespace weft
