#include "weft/grammar/engine/matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"
#include "weft/tests/grammar/grammar_fixture.h"

namespace weft::grammar {
namespace {

std::set<TokenId> tokens_of(const AllowedTokens& allowed) {
  std::set<TokenId> tokens(allowed.tokens.begin(), allowed.tokens.end());
  for (std::size_t i = 0; i < allowed.bits.size() * 32; ++i) {
    if ((allowed.bits[i / 32] >> (i % 32) & 1U) != 0) tokens.insert(static_cast<TokenId>(i));
  }
  EXPECT_EQ(tokens.size(), allowed.count);
  return tokens;
}

/// Words such as a vocabulary of code and text has: with quotes, brackets, broken characters.
std::vector<std::string> random_words(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::string> pieces = {"a",  "b",  "z",  "1",  "0",  "\"", "\\", "{",    "}",
                                           "[",  "]",  ":",  ",",  " ",  "\n", "é",  "\xc3", "\x9f",
                                           "名", "tr", "ue", "nu", "ll", ".",  "-",  "e",    "/"};
  std::set<std::string> words;
  while (words.size() < count) {
    std::string word;
    const std::size_t size = 2 + random() % (random() % 8 == 0 ? 40 : 5);
    for (std::size_t i = 0; i < size; ++i) word += pieces[random() % pieces.size()];
    words.insert(word);
  }
  return {words.begin(), words.end()};
}

/// The tokens that a matcher takes, one tried after the other.
std::set<TokenId> tokens_by_trial(const CompiledGrammar& grammar, const CompiledGrammar::Place& at,
                                  std::size_t vocabulary) {
  std::set<TokenId> tokens;
  for (std::size_t i = 0; i < vocabulary; ++i) {
    CompiledGrammar::Place place = at;
    grammar.advance(place, static_cast<TokenId>(i));
    bool may_end = false;
    const TokenMask& mask = grammar.mask(place, may_end);
    if (may_end || mask.count > 0) tokens.insert(static_cast<TokenId>(i));
  }
  return tokens;
}

TEST(MatcherTest, AllowsExactlyTheTokensThatCanBeGoneOnFrom) {
  const auto vocabulary = byte_vocabulary(random_words(600, 7));
  for (const std::string_view schema :
       {R"({})", R"({"type":"object","properties":{"a":{"type":"string"},"b1":{"type":"number"}}})",
        R"({"type":"string","maxLength":6})", R"({"type":"string","maxLength":40,"minLength":3})",
        R"({"type":"array","items":{"enum":["a","ab","tr",true,null]}})",
        R"({"type":"string","pattern":"^[a-z]+ .*$"})"}) {
    const auto grammar = schema_grammar(schema);
    const auto compiled = CompiledGrammar::make(*grammar, vocabulary);
    ASSERT_TRUE(compiled);
    std::mt19937_64 random(3);
    CompiledGrammar::Place place = (*compiled)->start();
    for (int step = 0; step < 12; ++step) {
      bool may_end = false;
      const TokenMask& mask = (*compiled)->mask(place, may_end);
      const std::set<TokenId> allowed = tokens_of({mask.bits, mask.tokens, may_end, mask.count});
      EXPECT_EQ(allowed, tokens_by_trial(**compiled, place, vocabulary->vocabulary()))
          << schema << " step " << step;
      if (allowed.empty()) break;
      auto chosen = allowed.begin();
      std::advance(chosen, random() % allowed.size());
      (*compiled)->advance(place, *chosen);
    }
  }
}

TEST(MatcherTest, TakesBackTokens) {
  const auto grammar = regex_grammar("[ab]*c");
  const auto compiled = *CompiledGrammar::make(*grammar, byte_vocabulary());
  const auto state = compiled->begin();
  const std::vector<TokenId> tokens = {'a', 'b', 'c'};
  state->advance(tokens);
  EXPECT_TRUE(state->allowed().may_end);
  EXPECT_EQ(state->allowed().count, 0U);
  EXPECT_FALSE(state->roll_back(4));
  EXPECT_TRUE(state->roll_back(1));
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{'a', 'b', 'c'}));
  const std::vector<TokenId> many(100, 'a');
  state->advance(many);
  EXPECT_FALSE(state->roll_back(defaults::kMaxRollback + 1));
  EXPECT_TRUE(state->roll_back(defaults::kMaxRollback));
  EXPECT_FALSE(state->roll_back(1));
  EXPECT_EQ(state->allowed().count, 3U);
}

TEST(MatcherTest, ACopyGoesItsOwnWay) {
  const auto grammar = regex_grammar("ab|cd");
  const auto compiled = *CompiledGrammar::make(*grammar, byte_vocabulary());
  const auto state = compiled->begin();
  const auto other = state->clone();
  state->advance(std::vector<TokenId>{'a'});
  other->advance(std::vector<TokenId>{'c'});
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{'b'}));
  EXPECT_EQ(tokens_of(other->allowed()), (std::set<TokenId>{'d'}));
}

TEST(MatcherTest, AllowsNothingAfterATokenThatWasNotAllowed) {
  const auto grammar = regex_grammar("ab");
  const auto compiled = *CompiledGrammar::make(*grammar, byte_vocabulary());
  const auto state = compiled->begin();
  state->advance(std::vector<TokenId>{'x', -1, 1'000'000});
  EXPECT_EQ(state->allowed().count, 0U);
  EXPECT_FALSE(state->allowed().may_end);
  EXPECT_TRUE(state->roll_back(3));
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{'a'}));
}

TEST(MatcherTest, DropsWhatItKnowsWhenThatIsMuchAndGoesOn) {
  const auto grammar = regex_grammar("(ab?c?d?){0,100000}");
  const auto compiled = *CompiledGrammar::make(*grammar, byte_vocabulary());
  const auto state = compiled->begin();
  std::size_t most = 0;
  for (int i = 0; i < 40'000; ++i) {
    state->advance(std::vector<TokenId>{'a'});
    most = std::max(most, compiled->state_bytes());
  }
  EXPECT_LT(most, defaults::kMaxStateBytes + (1U << 20U));
  EXPECT_GT(most, defaults::kMaxStateBytes / 2);
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{'a', 'b', 'c', 'd'}));
  EXPECT_TRUE(state->roll_back(60));
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{'a', 'b', 'c', 'd'}));
}

TEST(MatcherTest, KnowsSpecialTokensByName) {
  const auto vocabulary = byte_vocabulary({"hi"});
  const TokenId end = vocabulary->special("<end>");
  const auto grammar = grammar_of([](GrammarBuilder& builder) -> Result<GrammarBuilder::Part> {
    return builder.sequence(
        {builder.literal("hi"), builder.special("<end>"), builder.special("<none>")});
  });
  const auto compiled = *CompiledGrammar::make(*grammar, vocabulary);
  const auto state = compiled->begin();
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{'h', 256}));
  state->advance(std::vector<TokenId>{256});
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{end}));
  state->advance(std::vector<TokenId>{end});
  EXPECT_EQ(tokens_of(state->allowed()), (std::set<TokenId>{'<'}));
  for (const char c : std::string_view("<none>")) {
    state->advance(std::vector<TokenId>{static_cast<TokenId>(c)});
  }
  EXPECT_TRUE(state->allowed().may_end);
}

}  // namespace
}  // namespace weft::grammar
