#include "weft/grammar/engine/grammar_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/grammar/defaults.h"
#include "weft/tests/grammar/grammar_fixture.h"
#include "weft/tests/grammar/mask_fixture.h"

namespace weft::grammar {
namespace {

constexpr std::size_t kLimit = std::size_t{4} << 20;

class GrammarStoreTest : public testing::Test {
 protected:
  /// Returns the constraint that is lent to a request with a pattern; null where it is refused.
  std::shared_ptr<const TokenConstraint> lend(const std::string& pattern) {
    if (!store_->make_room()) return nullptr;
    if (auto known = store_->find(pattern)) return known->constraint;
    const auto compiled =
        CompiledGrammar::make(*regex_grammar(pattern), vocabulary_, store_->memory());
    return store_->add(pattern, {*compiled, nullptr}).constraint;
  }
  static std::string pattern_of(int request) {
    return "([^" + std::to_string(request % 10) + "]{1,40},?){1," + std::to_string(30 + request) +
           "}";
  }
  /// A step as a device makes it: a choice, and the next token.
  static bool step(ConstraintState& state, TokenId token) {
    const bool allowed = tokens_of(state.allowed()).contains(token);
    state.rest();
    state.advance({&token, 1});
    state.rest();
    return allowed;
  }
  [[nodiscard]] std::size_t held() const { return store_->memory()->held(); }

  std::shared_ptr<Gauge> gauge_ = std::make_shared<Gauge>();
  std::shared_ptr<GrammarStore> store_ =
      std::make_shared<GrammarStore>(std::make_shared<GrammarMemory>(kLimit, gauge_));
  std::shared_ptr<const TokenTrie> vocabulary_ = byte_vocabulary(random_words(300, 4));
};

TEST_F(GrammarStoreTest, AFloodOfPatternsIsAnsweredOrRefusedWithinTheBudget) {
  struct Running {
    std::shared_ptr<const TokenConstraint> constraint;
    std::unique_ptr<ConstraintState> state;
  };
  std::vector<Running> running;
  std::size_t most = 0;
  for (int i = 0; i < 64; ++i) {
    auto constraint = lend(pattern_of(i));
    if (constraint == nullptr) continue;
    auto state = constraint->begin();
    running.push_back({std::move(constraint), std::move(state)});
    for (const Running& one : running) {
      ASSERT_TRUE(step(*one.state, i % 7 == 6 ? ',' : 'z'));
      most = std::max(most, held());
    }
  }
  EXPECT_GT(running.size(), 8U);
  EXPECT_GT(most, kLimit / 2) << "the flood is too small to show anything";
  EXPECT_LT(most, 2 * kLimit);
  EXPECT_EQ(gauge_->value(), static_cast<double>(held()));
  // The requests end; their matchers stay in the rows of a device.
  for (const Running& one : running) {
    EXPECT_FALSE(one.constraint->gave_up());
    one.constraint->end();
  }
  constexpr std::size_t kGrammarItself = 4096;
  EXPECT_LT(held(), kLimit / defaults::kIdleGrammarShare + running.size() * kGrammarItself);
  running.clear();
  EXPECT_LE(held(), kLimit / defaults::kIdleGrammarShare);
  EXPECT_TRUE(store_->make_room());
}

TEST_F(GrammarStoreTest, WhatIsInUseIsRefusedMoreUntilItsSequencesHaveGoneOn) {
  const auto constraint = lend("(ab?c?d?){0,100000}");
  const auto waits = constraint->begin();
  static_cast<void>(waits->allowed());  // a mask that is looked at stays
  const auto goes_on = constraint->begin();
  const std::vector<TokenId> one = {'a'};
  while (held() <= kLimit) goes_on->advance(one);
  goes_on->advance(one);
  EXPECT_EQ(lend("x"), nullptr);
  waits->rest();
  EXPECT_TRUE(step(*waits, 'a'));
  EXPECT_NE(lend("x"), nullptr);
  EXPECT_LT(held(), kLimit / 2);
  EXPECT_TRUE(step(*goes_on, 'b'));
}

TEST_F(GrammarStoreTest, IdleGrammarsAreKeptUntilTheirRoomIsNeeded) {
  const auto in_use = lend("(ab?c?d?){0,100000}");
  const auto state = in_use->begin();
  lend("b+")->end();
  EXPECT_TRUE(store_->find("b+").has_value());
  const std::size_t before = held();
  lend("b+")->end();
  EXPECT_EQ(held(), before) << "it was compiled again";
  std::size_t most = before;
  while (held() >= most) {
    most = held();
    ASSERT_TRUE(step(*state, 'a'));
  }
  EXPECT_GT(most, kLimit / 2);
  EXPECT_FALSE(store_->find("b+").has_value());
  EXPECT_TRUE(step(*state, 'b'));
}

TEST_F(GrammarStoreTest, AnEndedRequestHoldsNoStates) {
  const auto constraint = lend("[xy]{1,3000}");
  const auto state = constraint->begin();
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(step(*state, 'x'));
  }
  const std::size_t before = held();
  constraint->end();
  constraint->end();
  EXPECT_LT(held(), before / 4);
  EXPECT_EQ(state->allowed().count, 0U);
  EXPECT_FALSE(constraint->gave_up());
}

TEST_F(GrammarStoreTest, TheSameKeyIsCompiledOnceAndLentToEachRequest) {
  const auto one = lend("a|b");
  const std::size_t bytes = held();
  const auto other = lend("a|b");
  EXPECT_EQ(held(), bytes);
  EXPECT_NE(one, other);
  one->end();
  EXPECT_TRUE(step(*other->begin(), 'b'));
}

TEST_F(GrammarStoreTest, AMatcherThatMeetsTooMuchSaysSo) {
  // Where letters alternate, no two counts adjoin.
  std::string pattern = "[ab]*a(";
  for (int i = 0; i < 48; ++i) {
    pattern += (i == 0 ? "" : "|") + std::string("[ab]{9000}") + std::to_string(i) + "!";
  }
  const auto constraint = lend(pattern + ")");
  ASSERT_NE(constraint, nullptr);
  const auto state = constraint->begin();
  EXPECT_TRUE(step(*state, 'a'));
  const auto other = lend(pattern + ")");
  for (int i = 0; i < 110 && !constraint->gave_up(); ++i) {
    state->advance(std::vector<TokenId>{'b', 'a'});
  }
  EXPECT_TRUE(constraint->gave_up());
  EXPECT_EQ(state->allowed().count, 0U);
  const auto another = other->begin();
  another->advance(std::vector<TokenId>{'x'});
  EXPECT_EQ(another->allowed().count, 0U);
  EXPECT_FALSE(other->gave_up()) << "a token that is not allowed is none of the grammar's faults";
}

}  // namespace
}  // namespace weft::grammar
