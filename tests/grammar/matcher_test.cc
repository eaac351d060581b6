#include "weft/grammar/engine/matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"
#include "weft/tests/grammar/grammar_fixture.h"
#include "weft/tests/grammar/mask_fixture.h"

namespace weft::grammar {
namespace {

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

TEST(MatcherTest, SaysWhetherAStepIsOnlyLookedUp) {
  const auto vocabulary = byte_vocabulary({"hi"});
  const TokenId end = vocabulary->special("<end>");
  const auto grammar = grammar_of([](GrammarBuilder& builder) -> Result<GrammarBuilder::Part> {
    return builder.sequence({builder.literal("hi"), builder.special("<end>")});
  });
  const auto compiled = *CompiledGrammar::make(*grammar, vocabulary);
  const auto state = compiled->begin();
  EXPECT_TRUE(state->is_known({})) << "the first mask is made with the grammar";
  const std::vector<TokenId> hi = {256};
  EXPECT_FALSE(state->is_known(hi)) << "its state is known, but not its mask";
  const auto other = state->clone();
  other->advance(hi);
  EXPECT_EQ(tokens_of(other->allowed()), (std::set<TokenId>{end}));
  EXPECT_TRUE(state->is_known(hi)) << "another sequence has found it out";
  EXPECT_TRUE(other->is_known({}));
  EXPECT_FALSE(other->is_known({&end, 1})) << "special tokens are not remembered";
  state->advance(std::vector<TokenId>{'x'});
  EXPECT_EQ(state->allowed().count, 0U);
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
