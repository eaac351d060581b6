#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/grammar/forms/ebnf_reader.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {
namespace {

using Kind = EbnfNode::Kind;

class GbnfReader final : public EbnfReader {
 public:
  using EbnfReader::EbnfReader;

  Result<EbnfGrammar> read() {
    EbnfGrammar grammar;
    grammar.start = "root";
    skip();
    while (!failed() && !at_end()) {
      std::string rule = name();
      skip();
      if (!failed() && !take("::=")) fail("::= is missing behind a rule's name");
      EbnfNode body = alternatives(0);
      if (!failed() && !at_end() && !rule_ends()) fail("a bracket closes nothing");
      if (!failed() && !grammar.rules.emplace(rule, std::move(body)).second) {
        fail("the rule '" + rule + "' is there twice");
      }
    }
    if (failed()) return error();
    return grammar;
  }

 private:
  bool comment_begins() const override { return here() == '#'; }

  bool is_name_character(char c, bool first) const override {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && ((c >= '0' && c <= '9') || c == '-'));
  }

  bool rule_ends() const override {
    std::size_t at = at_;
    while (at < text_.size() && is_name_character(text_[at], at == at_)) ++at;
    if (at == at_) return false;
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return text_.substr(at, 3) == "::=";
  }

  EbnfNode other_atom(std::size_t /*depth*/) override {
    EbnfNode made = node(Kind::kPattern);
    if (take(".")) {
      made.text = ".";
      made.dot_is_all = true;
      return made;
    }
    if (here() != '[') {
      fail("a text, a class, a name or a group is missing");
      return made;
    }
    const std::size_t begin = at_++;
    if (here() == '^') ++at_;
    for (bool first = true; !at_end() && (first || here() != ']'); first = false) {
      at_ += here() == '\\' ? 2 : 1;
    }
    if (at_end()) fail("a class is not closed");
    ++at_;
    made.text = text_.substr(begin, at_ - begin);
    return made;
  }

  bool other_repeat(EbnfNode& repeat) override {
    if (!take("{")) return false;
    skip();
    if (!ahead(",")) repeat.least = repeat.most = number();
    skip();
    if (take(",")) {
      skip();
      repeat.most = ahead("}") ? kNoBound : number();
      skip();
    }
    if (!failed() && !take("}")) fail("a repetition's bracket is not closed");
    if (!failed() && repeat.most < repeat.least) {
      fail("a repetition's bounds are the wrong way round");
    }
    return true;
  }
};

}  // namespace

Result<EbnfGrammar> read_gbnf(std::string_view text) { return GbnfReader(text).read(); }

}  // namespace weft::grammar
