#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error/error.h"
#include "weft/grammar/forms/ebnf.h"

namespace weft::grammar {

/// The common part of GBNF and Lark's form: expressions of alternatives, sequences, groups, texts,
/// names and repetitions. Each form adds its own syntax by the virtual functions. Owner only.
class EbnfReader {
 public:
  explicit EbnfReader(std::string_view text) : text_(text) {}
  EbnfReader(const EbnfReader&) = delete;
  EbnfReader& operator=(const EbnfReader&) = delete;
  virtual ~EbnfReader() = default;

 protected:
  /// Skips white space and comments; returns whether a line ended there.
  bool skip();
  /// Reads alternatives up to their end: a bracket, or the head of another rule.
  EbnfNode alternatives(std::size_t depth);
  /// Reads a text in quotes; the reader stands at the opening quote.
  EbnfNode quoted();
  [[nodiscard]] std::string name();
  std::uint32_t number();

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char here() const { return at_end() ? '\0' : text_[at_]; }
  [[nodiscard]] bool ahead(std::string_view text) const {
    return text_.substr(at_, text.size()) == text;
  }
  bool take(std::string_view text) {
    if (!ahead(text)) return false;
    at_ += text.size();
    return true;
  }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  [[nodiscard]] bool failed() const { return !problem_.empty(); }
  [[nodiscard]] Error error() const;
  [[nodiscard]] static EbnfNode node(EbnfNode::Kind kind) {
    EbnfNode made;
    made.kind = kind;
    return made;
  }

  /// Whether a comment begins here.
  [[nodiscard]] virtual bool comment_begins() const = 0;
  /// Whether the rule ends here, at the beginning of a line.
  [[nodiscard]] virtual bool rule_ends() const = 0;
  /// Reads an atom that begins with neither a bracket, a quote nor a letter.
  virtual EbnfNode other_atom(std::size_t depth) = 0;
  /// Reads repetitions other than *, + and ?; returns false where there is none.
  virtual bool other_repeat(EbnfNode& repeat) = 0;
  /// Reads syntax that may follow a text directly.
  virtual void after_text(EbnfNode& /*text*/) {}
  /// Reads syntax that may follow a sequence.
  virtual void end_of_sequence() {}
  [[nodiscard]] virtual bool is_name_character(char c, bool first) const = 0;

  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;

 private:
  EbnfNode sequence(std::size_t depth);
  EbnfNode repeated(std::size_t depth);
  EbnfNode atom(std::size_t depth);
};

}  // namespace weft::grammar
