#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/grammar/grammar_error.h"
#include "weft/tests/grammar/grammar_fixture.h"

namespace weft::grammar {
namespace {

std::shared_ptr<const Grammar> text_grammar(std::string_view text, Error* error = nullptr) {
  return grammar_of([&](GrammarBuilder& builder) { return builder.grammar_text(text); }, error);
}

struct TextCase {
  std::string_view grammar;
  std::vector<std::string_view> matches;
  std::vector<std::string_view> others;
};

void expect_all(const std::vector<TextCase>& cases) {
  for (const TextCase& one : cases) {
    Error error;
    const auto grammar = text_grammar(one.grammar, &error);
    ASSERT_NE(grammar, nullptr) << one.grammar << "\n" << to_string(error);
    for (const auto text : one.matches)
      EXPECT_TRUE(accepts(*grammar, text)) << one.grammar << "\n" << text;
    for (const auto text : one.others)
      EXPECT_FALSE(accepts(*grammar, text)) << one.grammar << "\n" << text;
  }
}

TEST(GrammarTextTest, ReadsGbnf) {
  expect_all({
      {"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "maybe"}},
      {"# arithmetic\nroot ::= expr \"\\n\"\nexpr ::= term ([-+*/] term)*  # any number\n"
       "term ::= ident | num | \"(\" ws expr \")\" ws\nident ::= [a-z] [a-z0-9_]* ws\n"
       "num ::= [0-9]+ ws\nws ::= [ \\t\\n]*\n",
       {"a+1\n", "(x1 *2)-3\n"},
       {"a+\n", "1", "(a\n"}},
      {"root ::= item{2,3}\nitem ::= [a-c]\n", {"ab", "abc"}, {"a", "abcd"}},
      {"root ::= \"a\"{2} \"b\"{1,} \"c\"{,2}", {"aab", "aabbcc"}, {"ab", "aac", "aabccc"}},
      {"root ::=\n  \"a\"\n  | \"b\" rest-of\nrest-of ::= .\n", {"a", "bx", "b\n"}, {"b"}},
      {"root ::= \"\\x41\\u00e9\\\"\\\\\" [^\\]\"]", {"A\xc3\xa9\"\\x"}, {"A\xc3\xa9\"\\]"}},
      {"root ::= root \"a\" | \"b\"", {"b", "ba", "baaa"}, {"a", "ab"}},
      {"root ::= \"x\" root \"y\" | \"\"", {"", "xy", "xxyy"}, {"xxy"}},
  });
}

TEST(GrammarTextTest, ReadsLarksForm) {
  expect_all({
      {"start: \"yes\" | \"no\"i", {"yes", "no", "NO", "nO"}, {"YES", ""}},
      {"?start: sum\n?sum: product\n    | sum \"+\" product -> add\n    | sum \"-\" product -> "
       "sub\n"
       "?product: atom\n    | product \"*\" atom\n?atom: NUMBER\n    | \"-\" atom\n    | \"(\" sum "
       "\")\"\n"
       "%import common.NUMBER\n%import common.WS_INLINE\n%ignore WS_INLINE\n",
       {"1", " 1 + 2 * (3 - -4)", "1+2"},
       {"1 +", "(1", "1 2 +"}},
      {"start: pair (\",\" pair)*\npair: NAME \":\" [VALUE]\nNAME.2: \"a\"..\"z\"+\nVALUE: "
       "/[0-9]{1,3}/ // digits\n",
       {"a:1", "abc:,b:22"},
       {"a", "A:1", "a:1234"}},
      {"start: /a.b/s X~2 X~1..2\nX: /x/i\n", {"a\nbxXx", "acbxxxx"}, {"abxx", "a-bxx"}},
      {"start: (\"a\" | \"b\")~3", {"aba"}, {"ab", "abab"}},
      {"%import common (INT, WORD)\n%import common.ESCAPED_STRING -> STR\nstart: INT WORD STR",
       {"12ab\"x\\\"y\""},
       {"ab12"}},
  });
}

TEST(GrammarTextTest, ReadsLlguidancesDialect) {
  expect_all({
      {"%llguidance {}\n\nstart: x s \"hello\"\nx[capture, max_tokens=5, temperature=0.5]: X\n"
       "X: /[0-9]+/\ns[capture=\"a]\"]: S\n\nS: \"a\"\n     | \"b\"\n",
       {"12ahello", "1bhello"},
       {"ahello", "1chello", "12a"}},
      {"%llguidance {\"no_forcing\": true}\nstart: y\ny[stop=\"\\n\"]: Y\nY: /(?s:.*)/\n",
       {"\n", "a b\n"},
       {"a", "a\nb\n"}},
      {"start: y \"c\"\ny[suffix=\"}\", lazy]: /.*/\n", {"}c", "ab}c"}, {"a\n}c", "a}}c"}},
      {"start: y\ny[stop=\"ab\"]: /[a-c]*/\n", {"ab", "cab"}, {"a", "dab"}},
      {"start: \"<\" z \">\"\nz[capture]: %json {\n  \"type\": \"object\",\n  \"properties\": "
       "{\"a}\": {\"type\": \"integer\"}},\n \"required\": [\"a}\"]\n}\n",
       {"<{\"a}\": 1}>"},
       {"<{}>", "{\"a}\": 1}"}},
  });
}

TEST(GrammarTextTest, NamesTheLineOfAMistake) {
  for (const auto& [grammar, problem] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"root ::= \"a", "a text is not closed in line 1"},
           {"root ::= (\"a\"\n", "a bracket is not closed in line 2"},
           {"root ::= \"a\")", "a bracket closes nothing in line 1"},
           {"root ::= a", "the rule 'a' is not there"},
           {"a ::= \"b\"", "the rule 'root' is not there"},
           {"root ::= \"a\"\nroot ::= \"b\"", "the rule 'root' is there twice in line 2"},
           {"root ::= [a", "a class is not closed in line 1"},
           {"root ::= [z-a]", "'root': a range ends before it begins at byte 4"},
           {"root ::= \"a\"{3,2}", "a repetition's bounds are the wrong way round in line 1"},
           {"root ::= a\na ::= b\nb ::= a \"x\" | \"y\"",
            "a rule begins with itself (left recursion)"},
           {"start: a{b}", "a text, a regular expression, a name or a group is missing in line 1"},
           {"%llguidance\nstart: \"a\"", "a JSON object is missing in line 2"},
           {"%llguidance {", "a JSON object is missing in line 1"},
           {"start[loud]: \"a\"", "the attribute 'loud' is not supported in line 1"},
           {"start[capture: \"a\"", "a bracket is not closed in line 1"},
           {"start[stop=]: \"a\"", "an attribute has no value in line 1"},
           {"start: %json 5", "a JSON object is missing in line 1"},
           {"start: X\n%declare X", "%declare is not supported in line 2"},
           {"start: X\n%import python.X", "%import is supported from common in line 2"},
           {"start: /a/x", "the flag 'x' is not supported in line 1"},
           {"start: /(?=a)/", "'start': lookaround is not supported at byte 1"},
           {"", "the rule 'start' is not there"},
           {"\xff", "it is not UTF-8"}}) {
    Error error;
    EXPECT_EQ(text_grammar(grammar, &error), nullptr) << grammar;
    EXPECT_EQ(error.code, GrammarErrc::kBadGrammar) << grammar;
    EXPECT_EQ(error.detail, problem) << grammar;
  }
  Error error;
  EXPECT_EQ(text_grammar("root ::= " + std::string(10'000, '('), &error), nullptr);
  EXPECT_EQ(text_grammar("root ::= \"a\"" + std::string(10'000, '*'), &error), nullptr);
}

TEST(GrammarTextTest, LongChainsOfRulesTakeNoStack) {
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 4000; ++i) {
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  }
  chain += "r4000 ::= \"x\"\n";
  const auto grammar = text_grammar(chain);
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(accepts(*grammar, "x"));
}

}  // namespace
}  // namespace weft::grammar
