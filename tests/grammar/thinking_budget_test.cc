#include "weft/grammar/engine/thinking_budget.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "weft/tests/grammar/grammar_fixture.h"

namespace weft::grammar {
namespace {

std::vector<TokenId> ids(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

/// Thoughts between "<t>" and "</t>", each tag some tokens long.
ThinkingBudget budget_of(std::int32_t tokens) {
  return {.tokens = tokens, .open = "<t>", .close = "</t>", .ending = ids("</t>"), .special = {}};
}

/// The tokens that are allowed; empty: more than one.
std::vector<TokenId> forced(ConstraintState& state) {
  const AllowedTokens allowed = state.allowed();
  return {allowed.tokens.begin(), allowed.tokens.end()};
}

TEST(ThinkingBudgetTest, AnEndingOfSeveralTokensIsWrittenOut) {
  const auto constraint = with_budget(nullptr, byte_vocabulary(), budget_of(2));
  const auto state = constraint->begin();
  state->advance(ids("\n<t>a"));
  EXPECT_TRUE(forced(*state).empty());
  state->advance(ids("b"));
  for (const TokenId token : ids("</t>")) {
    EXPECT_EQ(forced(*state), std::vector<TokenId>{token});
    state->advance(std::vector<TokenId>{token});
  }
  EXPECT_TRUE(forced(*state).empty());
  EXPECT_TRUE(state->allowed().may_end);
  state->advance(ids("a<t>abc"));
  EXPECT_TRUE(forced(*state).empty()) << "no thought begins behind text";
}

TEST(ThinkingBudgetTest, ThoughtsBehindThoughtsAndCallsShareTheBudget) {
  ThinkingBudget budget = budget_of(8);
  budget.renewals = {"</call>", "<r>", ""};
  for (const std::string_view before : {"<t>a</t>", "<t>a</t>\n", "<t>a</t>b<r>",
                                        "<t>a</t><</call> ", "<t>a</t>text<</call>\n<r>"}) {
    const auto state = with_budget(nullptr, byte_vocabulary(), budget)->begin();
    state->advance(ids(before));
    EXPECT_TRUE(forced(*state).empty()) << before;
    state->advance(ids("<t>ab"));
    EXPECT_TRUE(forced(*state).empty()) << before;
    state->advance(ids("c"));
    EXPECT_EQ(forced(*state), ids("<")) << before;
  }
  const auto state = with_budget(nullptr, byte_vocabulary(), budget)->begin();
  state->advance(ids("<t>a</t></call>b<t>abcdefgh"));
  EXPECT_TRUE(forced(*state).empty()) << "no thought begins behind text";
}

TEST(ThinkingBudgetTest, AThoughtThatEndsByItselfIsLeftAlone) {
  const auto state = with_budget(nullptr, byte_vocabulary(), budget_of(6))->begin();
  state->advance(ids("<t>a</t>bcdefgh"));
  EXPECT_TRUE(forced(*state).empty());
  const auto other = with_budget(nullptr, byte_vocabulary(), budget_of(0))->begin();
  other->advance(ids("abc <t>"));
  EXPECT_TRUE(forced(*other).empty());
}

TEST(ThinkingBudgetTest, NoCharacterIsCut) {
  ThinkingBudget budget = budget_of(1);
  budget.in_thought = true;
  const auto state = with_budget(nullptr, byte_vocabulary(), budget)->begin();
  state->advance(ids("\xE2"));
  EXPECT_TRUE(forced(*state).empty());
  state->advance(ids("\x82\xAC"));
  EXPECT_EQ(forced(*state), ids("<"));
}

TEST(ThinkingBudgetTest, TokensCanBeTakenBackAndCopiesGoTheirOwnWay) {
  ThinkingBudget budget = budget_of(2);
  budget.in_thought = true;
  const auto state = with_budget(nullptr, byte_vocabulary(), budget)->begin();
  state->advance(ids("ab<"));
  const auto other = state->clone();
  EXPECT_TRUE(state->roll_back(2));
  EXPECT_TRUE(forced(*state).empty());
  EXPECT_EQ(forced(*other), ids("/"));
  state->advance(ids("c"));
  EXPECT_EQ(forced(*state), ids("<"));
  EXPECT_FALSE(state->roll_back(3));
}

TEST(ThinkingBudgetTest, ThoughtsThatMayBeginAnywhereShareTheBudget) {
  ThinkingBudget budget = budget_of(3);
  budget.anywhere = true;
  const auto state = with_budget(nullptr, byte_vocabulary(), budget)->begin();
  state->advance(ids("x<t>a</t>y<t>"));
  EXPECT_EQ(forced(*state), ids("<")) << "the first had five tokens, its end's among them";
}

TEST(ThinkingBudgetTest, WhatHoldsBesidesItHoldsOn) {
  const auto grammar = regex_grammar("[a-c]*</t>x");
  ThinkingBudget budget = budget_of(2);
  budget.in_thought = true;
  const auto constraint =
      with_budget(*CompiledGrammar::make(*grammar, byte_vocabulary()), byte_vocabulary(), budget);
  const auto state = constraint->begin();
  EXPECT_EQ(forced(*state), ids("<abc"));
  state->advance(ids("ab"));
  EXPECT_EQ(forced(*state), ids("<"));
  state->advance(ids("</t>"));
  EXPECT_EQ(forced(*state), ids("x"));
}

}  // namespace
}  // namespace weft::grammar
