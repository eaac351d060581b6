#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/grammar/engine/forced_follower.h"
#include "weft/tests/grammar/grammar_fixture.h"

namespace weft::grammar {
namespace {

namespace json = boost::json;

/// A byte-level BPE of ASCII's printable characters, of their merges by `merges`, and of a special
/// token "<end>".
Tokenizer tokenizer_of(const std::vector<std::pair<std::string, std::string>>& merges,
                       bool blank_first = false) {
  json::object vocabulary;
  for (char c = '!'; c <= '~'; ++c) vocabulary[std::string(1, c)] = vocabulary.size();
  vocabulary["Ġ"] = vocabulary.size();  // a blank
  vocabulary["Ċ"] = vocabulary.size();  // a line break
  vocabulary["Ã"] = vocabulary.size();  // the bytes of a letter with an accent
  vocabulary["©"] = vocabulary.size();
  vocabulary["¨"] = vocabulary.size();
  json::array pairs;
  for (const auto& [left, right] : merges) {
    vocabulary[left + right] = vocabulary.size();
    pairs.push_back(json::array{left, right});
  }
  const json::array added = {{{"id", vocabulary.size()},
                              {"content", "<end>"},
                              {"special", true},
                              {"single_word", false},
                              {"lstrip", false},
                              {"rstrip", false},
                              {"normalized", false}}};
  const json::object whole = {
      {"added_tokens", added},
      {"pre_tokenizer",
       {{"type", "ByteLevel"}, {"add_prefix_space", blank_first}, {"use_regex", false}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", pairs}}},
      {"decoder", {{"type", "ByteLevel"}}}};
  return Tokenizer::from_json(json::serialize(whole), "test").value();
}

/// The text forced behind a text, as tokens' texts with bars between them.
std::string forced_behind(const std::shared_ptr<const Grammar>& grammar, const Tokenizer& tokenizer,
                          std::string_view text) {
  const auto compiled =
      CompiledGrammar::make(*grammar, std::make_shared<const TokenTrie>(tokenizer)).value();
  std::vector<TokenId> tokens;
  for (const char c : text) {
    tokens.push_back(tokenizer.id_of(c == ' ' ? "Ġ" : std::string(1, c)));
  }
  const auto follower = compiled->follow();
  follower->advance(tokens);
  const auto matcher = compiled->begin();
  matcher->advance(tokens);
  std::string forced;
  for (const TokenId token : follower->next()) {
    const std::vector<TokenId> one = {token};
    matcher->advance(one);
    forced += (forced.empty() ? "" : "|") + tokenizer.decode(one, false).value();
  }
  // Each was allowed, or nothing would be now.
  EXPECT_TRUE(matcher->allowed().count > 0 || matcher->allowed().may_end) << forced;
  return forced;
}

TEST(ForcedTextTest, ANameThatHasToComeIsSpelledAsTheTokenizerDoes) {
  const auto grammar = schema_grammar(
      R"({"type":"object","properties":{"city":{"type":"string"},"code":{"enum":["left","lean"]}},)"
      R"("required":["city","code"],"additionalProperties":false})");
  const Tokenizer tokenizer = tokenizer_of({{"i", "t"}, {"it", "y"}, {"\"", ":"}, {"o", "d"}});
  EXPECT_EQ(forced_behind(grammar, tokenizer, ""), "{");
  EXPECT_EQ(forced_behind(grammar, tokenizer, "{"), "") << "white space, or none";
  EXPECT_EQ(forced_behind(grammar, tokenizer, "{\""), "c|ity|\":");
  EXPECT_EQ(forced_behind(grammar, tokenizer, "{\"ci"), "t|y|\":") << "the model cut it elsewhere";
  EXPECT_EQ(forced_behind(grammar, tokenizer, "{\"city\":\"no"), "") << "a string is free";
  EXPECT_EQ(forced_behind(grammar, tokenizer, "{\"city\":\"no\", \""), "c|od|e|\":");
  EXPECT_EQ(forced_behind(grammar, tokenizer, "{\"city\":\"no\", \"code\":\""), "l|e");
  EXPECT_EQ(forced_behind(grammar, tokenizer, "{\"city\":\"no\", \"code\":\"lea"), "n|\"");
}

TEST(ForcedTextTest, LeavesToTheModelWhatATokenCouldGoBeyond) {
  const auto grammar = regex_grammar("ab: [0-9]+");
  EXPECT_EQ(forced_behind(grammar, tokenizer_of({{"a", "b"}}), ""), "ab|:| ");
  EXPECT_EQ(forced_behind(grammar, tokenizer_of({{"a", "b"}, {"Ġ", "7"}}), ""), "ab|:");
  EXPECT_EQ(forced_behind(grammar, tokenizer_of({{"a", "b"}, {"Ġ", "7"}, {":", "Ġ7"}}), ""), "ab");
  EXPECT_EQ(forced_behind(grammar, tokenizer_of({{"a", "b"}, {"Ġ", "x"}}), ""), "ab|:| ")
      << "what is not allowed there is no reason";
}

TEST(ForcedTextTest, IsNothingWhereTheOutputMayEnd) {
  const Tokenizer tokenizer = tokenizer_of({});
  EXPECT_EQ(forced_behind(regex_grammar("ab(cde)?"), tokenizer, "a"), "b");
  EXPECT_EQ(forced_behind(regex_grammar("ab(cde)?"), tokenizer, "ab"), "");
  EXPECT_EQ(forced_behind(regex_grammar("ab(cde)?"), tokenizer, "abc"), "d|e");
}

TEST(ForcedTextTest, ASpecialTokenEndsAText) {
  const auto grammar = grammar_of([](GrammarBuilder& builder) {
    const auto text = [&](std::string_view one) { return builder.literal(one); };
    return Result<GrammarBuilder::Part>(builder.sequence(
        {text("go"), builder.special("<end>"), text("on"), *builder.regex("[0-9]")}));
  });
  const Tokenizer tokenizer = tokenizer_of({{"g", "o"}, {"o", "n"}, {"on", "1"}, {"go", "1"}});
  EXPECT_EQ(forced_behind(grammar, tokenizer, ""), "go|<end>");
}

TEST(ForcedTextTest, HalfACharacterIsLeftToTheModel) {
  const auto grammar = regex_grammar("ab(é|è)c");
  EXPECT_EQ(forced_behind(grammar, tokenizer_of({}), ""), "a|b");
}

TEST(ForcedTextTest, ATokenizerThatPutsABlankFirstSpellsAllTheSame) {
  const auto grammar = regex_grammar("name: [0-9]");
  EXPECT_EQ(forced_behind(grammar, tokenizer_of({{"m", "e"}, {"Ġ", "n"}}, true), ""), "n|a|me|:| ");
}

TEST(ForcedTextTest, IsAtMostSoManyTokens) {
  const auto grammar = regex_grammar(std::string(1000, 'a') + "b");
  const auto compiled =
      CompiledGrammar::make(*grammar, std::make_shared<const TokenTrie>(tokenizer_of({}))).value();
  const auto follower = compiled->follow();
  EXPECT_EQ(follower->next().size(), kMaxForcedTokens);
  const std::vector<TokenId> taken(follower->next().begin(), follower->next().end());
  for (std::size_t left = 1000; left > kMaxForcedTokens; left -= kMaxForcedTokens) {
    EXPECT_EQ(follower->next().size(), kMaxForcedTokens);
    follower->advance(taken);
  }
}

TEST(ForcedTextTest, WhatIsTooMuchWorkIsNotForced) {
  // Each byte of this many alternatives costs a third of the allowed work.
  const auto alternatives = [](int count) {
    return grammar_of([&](GrammarBuilder& builder) {
      std::vector<GrammarBuilder::Part> all;
      for (int i = 0; i < count; ++i) {
        all.push_back(builder.literal("yyyyyyyyy" + std::to_string(i)));
      }
      return Result<GrammarBuilder::Part>(builder.any_of(all));
    });
  };
  EXPECT_EQ(forced_behind(alternatives(30), tokenizer_of({}), ""), "y|y|y|y|y|y|y|y|y");
  const auto grammar = alternatives(3000);
  EXPECT_EQ(forced_behind(grammar, tokenizer_of({}), ""), "");
  const Tokenizer tokenizer = tokenizer_of({});
  const auto compiled =
      CompiledGrammar::make(*grammar, std::make_shared<const TokenTrie>(tokenizer)).value();
  const auto follower = compiled->follow();
  const std::vector<TokenId> ys(10, tokenizer.id_of("y"));
  follower->advance(ys);
  EXPECT_TRUE(follower->next().empty());
}

}  // namespace
}  // namespace weft::grammar
