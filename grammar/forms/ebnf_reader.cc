#include "weft/grammar/forms/ebnf_reader.h"

#include <algorithm>

#include "weft/core/text/utf8.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/forms/regex_class.h"
#include "weft/grammar/grammar.h"
#include "weft/grammar/grammar_error.h"

namespace weft::grammar {

using Kind = EbnfNode::Kind;

bool EbnfReader::skip() {
  bool has_line = false;
  while (!at_end()) {
    const char c = here();
    if (c == '\n') has_line = true;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else if (comment_begins()) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      break;
    }
  }
  return has_line;
}

Error EbnfReader::error() const {
  const auto before = text_.substr(0, std::min(at_, text_.size()));
  const auto lines = std::ranges::count(before, '\n') + 1;
  return {GrammarErrc::kBadGrammar, problem_ + " in line " + std::to_string(lines)};
}

std::string EbnfReader::name() {
  const std::size_t begin = at_;
  while (!at_end() && is_name_character(here(), at_ == begin)) ++at_;
  if (at_ == begin) fail("a name is missing");
  return std::string(text_.substr(begin, at_ - begin));
}

std::uint32_t EbnfReader::number() {
  constexpr std::uint32_t kMostTimes = 1'000'000;
  std::uint32_t value = 0;
  const std::size_t begin = at_;
  for (; here() >= '0' && here() <= '9' && !failed(); ++at_) {
    value = value * 10 + static_cast<std::uint32_t>(here() - '0');
    if (value > kMostTimes) fail("a repetition counts beyond " + std::to_string(kMostTimes));
  }
  if (at_ == begin) fail("a number is missing");
  return value;
}

EbnfNode EbnfReader::quoted() {
  EbnfNode made = node(Kind::kText);
  ++at_;
  EscapeReader escapes(text_, at_, problem_);
  while (!failed() && here() != '"') {
    if (at_end() || here() == '\n') {
      fail("a text is not closed");
    } else if (take("\\")) {
      const char32_t code = escapes.escape(false);
      if (!failed()) append_utf8(made.text, code);
    } else {
      append_utf8(made.text, escapes.character());
    }
  }
  ++at_;
  return made;
}

EbnfNode EbnfReader::alternatives(std::size_t depth) {
  EbnfNode made = node(Kind::kChoice);
  if (depth >= defaults::kMaxGrammarDepth) {
    fail("brackets nest deeper than " + std::to_string(defaults::kMaxGrammarDepth));
    return made;
  }
  do {
    made.children.push_back(sequence(depth));
    skip();
  } while (!failed() && take("|"));
  return made;
}

EbnfNode EbnfReader::sequence(std::size_t depth) {
  EbnfNode made = node(Kind::kSequence);
  while (!failed()) {
    const bool has_line = skip();
    if (at_end() || here() == '|' || here() == ')' || here() == ']') break;
    if (depth == 0 && has_line && rule_ends()) break;
    const std::size_t begin = at_;
    end_of_sequence();
    if (at_ != begin) continue;
    made.children.push_back(repeated(depth));
  }
  return made;
}

EbnfNode EbnfReader::repeated(std::size_t depth) {
  EbnfNode one = atom(depth);
  while (!failed()) {
    EbnfNode repeat = node(Kind::kRepeat);
    if (take("*")) {
      repeat.most = kNoBound;
    } else if (take("+")) {
      repeat.least = 1;
      repeat.most = kNoBound;
    } else if (take("?")) {
      repeat.most = 1;
    } else if (!other_repeat(repeat)) {
      break;
    }
    repeat.children.push_back(std::move(one));
    one = std::move(repeat);
    // A repetition of a repetition also counts as nesting.
    if (++depth >= defaults::kMaxGrammarDepth) fail("a repetition is repeated too often");
  }
  return one;
}

EbnfNode EbnfReader::atom(std::size_t depth) {
  if (take("(")) {
    EbnfNode inside = alternatives(depth + 1);
    if (!failed() && !take(")")) fail("a bracket is not closed");
    return inside;
  }
  if (here() == '"') {
    EbnfNode text = quoted();
    if (!failed()) after_text(text);
    return text;
  }
  if (is_name_character(here(), true)) {
    EbnfNode made = node(Kind::kName);
    made.text = name();
    return made;
  }
  return other_atom(depth);
}

namespace {

bool begins_with(const EbnfNode& alternative, std::string_view name) {
  if (alternative.kind == Kind::kName) return alternative.text == name;
  return alternative.kind == Kind::kSequence && !alternative.children.empty() &&
         alternative.children.front().kind == Kind::kName &&
         alternative.children.front().text == name;
}

}  // namespace

void remove_left_recursion(EbnfGrammar& grammar) {
  for (auto& [name, body] : grammar.rules) {
    if (body.kind != Kind::kChoice) continue;
    EbnfNode first;
    EbnfNode more;
    first.kind = more.kind = Kind::kChoice;
    for (EbnfNode& alternative : body.children) {
      if (!begins_with(alternative, name)) {
        first.children.push_back(std::move(alternative));
        continue;
      }
      if (alternative.kind == Kind::kName || alternative.children.size() == 1) continue;
      alternative.children.erase(alternative.children.begin());
      more.children.push_back(std::move(alternative));
    }
    if (more.children.empty()) {
      body = std::move(first);
      continue;
    }
    EbnfNode repeat;
    repeat.kind = Kind::kRepeat;
    repeat.most = kNoBound;
    repeat.children.push_back(std::move(more));
    EbnfNode whole;
    whole.children.push_back(std::move(first));
    whole.children.push_back(std::move(repeat));
    body = std::move(whole);
  }
}

}  // namespace weft::grammar
