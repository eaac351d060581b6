#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/grammar/forms/ebnf_reader.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {
namespace {

using Kind = EbnfNode::Kind;

/// Lark's grammar `common`, as regular expressions.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kCommon = {{
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[a-fA-F0-9]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    {"FLOAT", "[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT",
     "[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"},
    {"NUMBER", "[0-9]+|[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_NUMBER",
     "[+-]?(?:[0-9]+|[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"},
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[A-Za-z]"},
    {"WORD", "[A-Za-z]+"},
    {"CNAME", "[_A-Za-z][_A-Za-z0-9]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
}};

/// The attributes that a rule may have in llguidance's dialect.
constexpr std::array<std::string_view, 7> kAttributes = {
    "capture", "lazy", "max_tokens", "stop", "stop_capture", "suffix", "temperature"};

class LarkReader final : public EbnfReader {
 public:
  using EbnfReader::EbnfReader;

  Result<EbnfGrammar> read() {
    grammar_.start = "start";
    grammar_.has_terminals = true;
    skip();
    while (!failed() && !at_end()) {
      if (take("%")) {
        directive();
      } else {
        rule();
      }
      skip();
    }
    if (failed()) return error();
    return std::move(grammar_);
  }

 private:
  bool comment_begins() const override {
    return ahead("//") || (here() == '#' && (at_ == 0 || text_[at_ - 1] == '\n'));
  }

  bool is_name_character(char c, bool first) const override {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
  }

  bool rule_ends() const override {
    if (here() == '%') return true;
    std::size_t at = at_;
    while (at < text_.size() && (text_[at] == '?' || text_[at] == '!')) ++at;
    const std::size_t begin = at;
    while (at < text_.size() && is_name_character(text_[at], at == begin)) ++at;
    if (at == begin) return false;
    const auto skip_any = [&](std::string_view characters) {
      while (at < text_.size() && characters.find(text_[at]) != std::string_view::npos) ++at;
    };
    at = behind_attributes(at);
    skip_any(" \t");
    if (at < text_.size() && text_[at] == '.') skip_any(".-0123456789 \t");
    return at < text_.size() && (text_[at] == ':' || text_[at] == '{');
  }

  void add(const std::string& rule, EbnfNode body) {
    if (!failed() && !grammar_.rules.emplace(rule, std::move(body)).second) {
      fail("the rule '" + rule + "' is there twice");
    }
  }

  void rule() {
    while (take("?") || take("!")) {
    }
    const std::string rule_name = name();
    const std::optional<EbnfNode> end = take("[") ? attributes() : std::nullopt;
    skip();
    if (take("{")) fail("templates are not supported");
    if (take(".")) {
      take("-");
      static_cast<void>(number());
      skip();
    }
    if (!failed() && !take(":")) fail("a colon is missing behind a rule's name");
    EbnfNode body = alternatives(0);
    if (!failed() && !at_end() && !rule_ends()) fail("a bracket closes nothing");
    if (end) {
      EbnfNode until = node(Kind::kUntil);
      until.children = {std::move(body), *end};
      body = std::move(until);
    }
    add(rule_name, std::move(body));
  }

  /// Returns the offset after the attributes that begin at `at`; `at` where there are none.
  [[nodiscard]] std::size_t behind_attributes(std::size_t at) const {
    if (at >= text_.size() || text_[at] != '[') return at;
    bool quoted = false;
    for (std::size_t i = at; i < text_.size() && text_[i] != '\n'; ++i) {
      if (quoted && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        quoted = !quoted;
      } else if (text_[i] == ']' && !quoted) {
        return i + 1;
      }
    }
    return at;
  }

  /// Reads llguidance's attributes of a rule. Returns the end of the rule's text, if it has one.
  std::optional<EbnfNode> attributes() {
    std::optional<EbnfNode> end;
    do {
      skip();
      const std::string word = name();
      skip();
      if (std::ranges::find(kAttributes, word) == kAttributes.end()) {
        fail("the attribute '" + word + "' is not supported");
      } else if (take("=")) {
        skip();
        const EbnfNode value = attribute_value();
        if ((word == "stop" || word == "suffix") && !value.text.empty()) end = value;
      }
      skip();
    } while (!failed() && take(","));
    if (!failed() && !take("]")) fail("a bracket is not closed");
    return end;
  }

  EbnfNode attribute_value() {
    if (here() == '"') return quoted();
    if (here() == '/') return pattern();
    EbnfNode value = node(Kind::kName);
    if (is_name_character(here(), true)) {
      value.text = name();
      return value;
    }
    const std::size_t begin = at_;
    while (std::string_view("+-.0123456789e").find(here()) != std::string_view::npos) ++at_;
    if (at_ == begin) fail("an attribute has no value");
    return node(Kind::kSequence);
  }

  /// Reads a JSON object as a text.
  std::string braces() {
    const std::size_t begin = at_;
    std::size_t open = 0;
    bool quoted = false;
    for (; !at_end(); ++at_) {
      const char c = here();
      if (quoted && c == '\\') {
        ++at_;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && c == '{') {
        ++open;
      } else if (!quoted && c == '}' && --open == 0) {
        ++at_;
        return std::string(text_.substr(begin, at_ - begin));
      }
      if (open == 0) break;
    }
    fail("a JSON object is missing");
    return {};
  }

  void directive() {
    const std::string word = name();
    skip();
    if (word == "ignore") {
      grammar_.ignored.push_back(alternatives(0));
    } else if (word == "import") {
      import();
    } else if (word == "llguidance") {
      static_cast<void>(braces());  // its settings change no text
    } else {
      fail("%" + word + " is not supported");
    }
  }

  void import() {
    if (!take("common")) return fail("%import is supported from common");
    skip();
    if (take(".")) {
      const std::string imported = name();
      skip();
      std::string own = imported;
      if (take("->")) {
        skip();
        own = name();
      }
      return add_common(imported, own);
    }
    if (!take("(")) return fail("%import names nothing");
    do {
      skip();
      const std::string imported = name();
      add_common(imported, imported);
      skip();
    } while (!failed() && take(","));
    if (!failed() && !take(")")) fail("a bracket is not closed");
  }

  void add_common(const std::string& imported, const std::string& own) {
    if (failed()) return;
    const auto* const found =
        std::ranges::find(kCommon, imported, [](const auto& one) { return one.first; });
    if (found == kCommon.end()) return fail("common has no '" + imported + "' here");
    EbnfNode body = node(Kind::kPattern);
    body.text = found->second;
    add(own, std::move(body));
  }

  /// Skips an alias, which adds no text.
  void end_of_sequence() override {
    if (!take("->")) return;
    skip();
    static_cast<void>(name());
  }

  EbnfNode other_atom(std::size_t depth) override {
    if (take("[")) {
      EbnfNode optional = node(Kind::kRepeat);
      optional.most = 1;
      optional.children.push_back(alternatives(depth + 1));
      if (!failed() && !take("]")) fail("a bracket is not closed");
      return optional;
    }
    if (here() == '/') return pattern();
    if (take("%json")) {
      skip();
      EbnfNode schema = node(Kind::kSchema);
      schema.text = braces();
      return schema;
    }
    fail("a text, a regular expression, a name or a group is missing");
    return {};
  }

  EbnfNode pattern() {
    EbnfNode made = node(Kind::kPattern);
    const std::size_t begin = ++at_;
    bool in_class = false;
    for (; !at_end() && here() != '\n' && (here() != '/' || in_class); ++at_) {
      if (here() == '[') in_class = true;
      if (here() == ']') in_class = false;
      if (here() == '\\') ++at_;
    }
    if (here() != '/') {
      fail("a regular expression is not closed");
      return made;
    }
    made.text = text_.substr(begin, at_ - begin);
    ++at_;
    flags(made);
    return made;
  }

  void flags(EbnfNode& made) {
    for (; here() >= 'a' && here() <= 'z'; ++at_) {
      if (here() == 'i') {
        made.ignores_case = true;
      } else if (here() == 's') {
        made.dot_is_all = true;
      } else if (here() != 'u' && here() != 'l') {
        return fail(std::string("the flag '") + here() + "' is not supported");
      }
    }
  }

  /// Takes the flag i, or the other end of a range.
  void after_text(EbnfNode& text) override {
    if (here() == 'i' && !is_name_character(at_ + 1 < text_.size() ? text_[at_ + 1] : ' ', false)) {
      ++at_;
      text.ignores_case = true;
    }
    skip_blanks();
    if (!take("..")) return;
    skip_blanks();
    if (here() != '"') return fail("a range lacks its end");
    const EbnfNode last = quoted();
    if (failed()) return;
    if (count_code_points(text.text) != 1 || count_code_points(last.text) != 1) {
      return fail("a range's ends are characters");
    }
    text.kind = Kind::kPattern;
    text.text = "[" + escaped(text.text) + "-" + escaped(last.text) + "]";
  }

  static std::string escaped(std::string_view character) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (auto code = static_cast<std::uint32_t>(utf8_at(character).code); code != 0; code >>= 4U) {
      hex.insert(hex.begin(), kDigits[code & 0xFU]);
    }
    return "\\u{" + (hex.empty() ? "0" : hex) + "}";
  }

  bool other_repeat(EbnfNode& repeat) override {
    skip_blanks();
    if (!take("~")) return false;
    skip();
    repeat.least = repeat.most = number();
    skip_blanks();
    if (take("..")) {
      skip();
      repeat.most = number();
    }
    if (!failed() && repeat.most < repeat.least) {
      fail("a repetition's bounds are the wrong way round");
    }
    return true;
  }

  void skip_blanks() {
    while (here() == ' ' || here() == '\t') ++at_;
  }

  EbnfGrammar grammar_;
};

}  // namespace

Result<EbnfGrammar> read_lark(std::string_view text) { return LarkReader(text).read(); }

}  // namespace weft::grammar
