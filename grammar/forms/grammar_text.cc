#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/forms/ebnf.h"
#include "weft/grammar/forms/regex.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/grammar_error.h"

namespace weft::grammar {
namespace {

using Part = GrammarBuilder::Part;
using Kind = EbnfNode::Kind;

bool is_terminal_name(std::string_view name) {
  const std::size_t first = name.find_first_not_of('_');
  return first != std::string_view::npos && name[first] >= 'A' && name[first] <= 'Z';
}

/// Returns a regular expression that matches just these characters.
std::string quoted_for_regex(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_special = std::string_view("\\^$.|?*+()[]{}/-").find(c) != std::string_view::npos;
    if (is_special) out += '\\';
    out += c;
  }
  return out;
}

/// The longest chain of names that is followed.
constexpr std::size_t kMostSteps = 64;

/// Makes parts of the reachable rules, one after the other. Each rule is reserved where a name
/// first refers to it.
class EbnfParts {
 public:
  EbnfParts(GrammarBuilder& builder, const EbnfGrammar& grammar)
      : builder_(builder), grammar_(grammar) {}

  Result<Part> read() {
    if (!grammar_.ignored.empty()) {
      std::vector<Part> parts;
      for (const EbnfNode& one : grammar_.ignored) parts.push_back(lower(one, true));
      ignored_ = builder_.repeat(builder_.any_of(parts), 0, GrammarBuilder::kNoBound);
    }
    Part start = rule(grammar_.start);
    while (!waiting_.empty() && !error_) {
      const auto [name, part] = waiting_.front();
      waiting_.pop_front();
      rule_ = name;
      builder_.define(part, lower(grammar_.rules.find(name)->second,
                                  grammar_.has_terminals && is_terminal_name(name)));
      if (builder_.too_large()) return Error{GrammarErrc::kTooComplex, "the grammar is too large"};
    }
    if (error_) return *error_;
    if (ignored_) start = builder_.sequence({*ignored_, start});
    return start;
  }

 private:
  Part rule(const std::string& name) {
    const auto found = rules_.find(name);
    if (found != rules_.end()) return found->second;
    if (!grammar_.rules.contains(name)) {
      fail("the rule '" + std::string(cut_utf8(name, 80)) + "' is not there");
      return {};
    }
    const Part part = builder_.reserve_rule();
    rules_.emplace(name, part);
    waiting_.emplace_back(name, part);
    return part;
  }

  void fail(std::string problem) {
    if (!error_) error_ = Error{GrammarErrc::kBadGrammar, std::move(problem)};
  }

  /// Allows ignored texts after each terminal, in rules that are no terminals themselves.
  Part with_ignored(Part part, bool in_terminal) {
    return in_terminal || !ignored_ ? part : builder_.sequence({part, *ignored_});
  }

  Part pattern(std::string_view text, bool ignores_case, bool dot_is_all) {
    const auto part =
        read_regex(builder_, text, {.ignores_case = ignores_case, .dot_is_all = dot_is_all});
    if (part) return *part;
    fail("'" + rule_ + "': " + part.error().detail);
    return {};
  }

  Part schema(std::string_view text) {
    const auto part = builder_.json_schema(text, "%json");
    if (part) return *part;
    fail("'" + rule_ + "': " + part.error().detail);
    return {};
  }

  /// Follows names of rules, and groups of one element, to the pattern behind a node; null where
  /// the node is no pattern, or where its names lead only to each other.
  const EbnfNode* only_pattern(const EbnfNode& from) const {
    const EbnfNode* node = &from;
    for (std::size_t steps = 0; steps < kMostSteps; ++steps) {
      if (node->kind == Kind::kPattern) return node;
      if (node->kind == Kind::kName) {
        const auto found = grammar_.rules.find(node->text);
        if (found == grammar_.rules.end()) return nullptr;
        node = &found->second;
      } else if ((node->kind == Kind::kSequence || node->kind == Kind::kChoice) &&
                 node->children.size() == 1) {
        node = node->children.data();
      } else {
        return nullptr;
      }
    }
    return nullptr;
  }

  /// Returns a body and the text that ends it. A body that may be any text does not contain the end
  /// text; any other body ends where its own pattern ends.
  Part until(const EbnfNode& node) {
    const EbnfNode& body = node.children[0];
    const EbnfNode& end = node.children[1];
    const Part last = lower(end, true);
    const EbnfNode* const pattern = only_pattern(body);
    const bool lines = pattern != nullptr && pattern->text == ".*";
    const bool any =
        pattern != nullptr && (pattern->text == "(?s:.*)" || pattern->text == "(?s).*");
    if (end.kind != Kind::kText || (!lines && !any)) {
      return builder_.sequence({lower(body, true), last});
    }
    std::vector<std::string> never{end.text};
    if (lines && !pattern->dot_is_all) never.emplace_back("\n");
    return builder_.sequence({builder_.text_without(never), last});
  }

  Part lower(const EbnfNode& node, bool in_terminal) {
    if (error_) return {};
    switch (node.kind) {
      case Kind::kText:
        return with_ignored(node.ignores_case ? pattern(quoted_for_regex(node.text), true, false)
                                              : builder_.literal(node.text),
                            in_terminal);
      case Kind::kPattern:
        return with_ignored(pattern(node.text, node.ignores_case, node.dot_is_all), in_terminal);
      case Kind::kName: {
        const bool is_terminal = grammar_.has_terminals && is_terminal_name(node.text);
        return with_ignored(rule(node.text), in_terminal || !is_terminal);
      }
      case Kind::kRepeat:
        return builder_.repeat(lower(node.children[0], in_terminal), node.least, node.most);
      case Kind::kSchema:
        return with_ignored(schema(node.text), in_terminal);
      case Kind::kUntil:
        return with_ignored(until(node), in_terminal);
      case Kind::kSequence:
      case Kind::kChoice:
        break;
    }
    std::vector<Part> parts;
    for (const EbnfNode& child : node.children) parts.push_back(lower(child, in_terminal));
    return node.kind == Kind::kSequence ? builder_.sequence(parts) : builder_.any_of(parts);
  }

  GrammarBuilder& builder_;
  const EbnfGrammar& grammar_;
  std::map<std::string, Part, std::less<>> rules_;
  std::deque<std::pair<std::string, Part>> waiting_;
  std::optional<Part> ignored_;
  std::optional<Error> error_;
  std::string rule_ = "%ignore";
};

}  // namespace
}  // namespace weft::grammar

namespace weft {

Result<GrammarBuilder::Part> GrammarBuilder::grammar_text(std::string_view text) {
  if (text.size() > defaults::kMaxGrammarText) {
    return Error{
        GrammarErrc::kTooComplex,
        "the grammar is longer than " + std::to_string(defaults::kMaxGrammarText) + " bytes"};
  }
  if (!is_utf8(text)) return Error{GrammarErrc::kBadGrammar, "it is not UTF-8"};
  const bool is_gbnf = text.find("::=") != std::string_view::npos;
  auto grammar = is_gbnf ? grammar::read_gbnf(text) : grammar::read_lark(text);
  if (!grammar) return grammar.error();
  grammar::remove_left_recursion(*grammar);
  return grammar::EbnfParts(*this, *grammar).read();
}

}  // namespace weft
