#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft::grammar {

/// An expression of a grammar in its written form.
struct EbnfNode {
  enum class Kind : std::uint8_t {
    kText,      ///< the literal `text`
    kPattern,   ///< the regular expression `text`
    kName,      ///< a reference to the rule `text`
    kSequence,  ///< the children in order; with no child, the empty text
    kChoice,
    kRepeat,  ///< repetitions of the one child
    kSchema,  ///< a JSON text that the schema `text` allows
    kUntil,   ///< the first child, ended by the second, which is part of the text
  };
  Kind kind = Kind::kSequence;
  std::string text{};
  std::vector<EbnfNode> children{};
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  bool ignores_case = false;
  bool dot_is_all = false;
};

/// A grammar in its written form, with its rules by name.
struct EbnfGrammar {
  std::map<std::string, EbnfNode, std::less<>> rules{};
  std::string start{};
  std::vector<EbnfNode> ignored{};  ///< expressions that may stand between terminals (%ignore)
  bool has_terminals = false;       ///< rules in capitals are terminals, without %ignore inside
};

/// Reads GBNF in the form of llama.cpp and XGrammar: `root ::= ...`. kBadGrammar names the line.
[[nodiscard]] Result<EbnfGrammar> read_gbnf(std::string_view text);

/// Reads Lark's form: `start: ...`, terminals in capitals, /regular expressions/flags, "text"i,
/// "a".."z", [optional], ~ n..m, aliases and priorities (both ignored), %ignore, %import of the
/// usual terminals from `common`. Templates, %declare, %override and %extend are refused. It also
/// reads llguidance's %llguidance {}, %json {...}, and attributes of rules, name[capture,
/// max_tokens=5, stop="x", suffix="x", ...]. stop and suffix end a rule and belong to its text; the
/// other attributes change no text and are ignored. kBadGrammar names the line.
[[nodiscard]] Result<EbnfGrammar> read_lark(std::string_view text);

/// Turns rules that begin with themselves into repetitions: a: a x | b becomes a: b x*.
void remove_left_recursion(EbnfGrammar& grammar);

}  // namespace weft::grammar
