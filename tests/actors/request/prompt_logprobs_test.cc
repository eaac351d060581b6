#include "weft/actors/request/prompt_logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weft {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void read(PromptLogprobs& prompt, std::int32_t position, const std::vector<float>& logits) {
  prompt.read({.position = position, .logits = logits});
}

TEST(PromptLogprobsTest, EachTokenButTheFirstHasALogprobARankAndTheBestInItsPlace) {
  PromptLogprobs prompt(2);
  prompt.begin(std::vector<TokenId>{1, 0, 3});
  EXPECT_EQ(prompt.end_position(), 2) << "the last one's logits are of an output";
  read(prompt, 0, {0, 0, 0, 0});
  EXPECT_FALSE(prompt.complete());
  read(prompt, 1, {1, 3, kNever, 2});
  ASSERT_TRUE(prompt.complete());
  EXPECT_EQ(prompt.entry(1).rank, 1) << "none is better";
  EXPECT_FLOAT_EQ(prompt.entry(1).logprob, std::log(0.25F));
  const PromptLogprobs::Entry last = prompt.entry(2);
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  EXPECT_EQ(last.rank, 2);
  EXPECT_NEAR(last.logprob, 2 - std::log(sum), 1e-6);
  ASSERT_EQ(last.top.size(), 2U);
  EXPECT_EQ(last.top[0].token, 1);
  EXPECT_EQ(last.top[1].token, 3);
  EXPECT_EQ(last.top[1].logprob, last.logprob);
}

TEST(PromptLogprobsTest, WhatIsComputedOnceMoreChangesNothing) {
  PromptLogprobs prompt(0);
  prompt.begin(std::vector<TokenId>{0, 1, 1});
  read(prompt, 0, {0, 0});
  read(prompt, 0, {5, 0});
  read(prompt, 1, {0, 0});
  read(prompt, 0, {5, 0});
  read(prompt, 1, {5, 0});
  ASSERT_TRUE(prompt.complete());
  EXPECT_FLOAT_EQ(prompt.entry(1).logprob, std::log(0.5F));
  EXPECT_FLOAT_EQ(prompt.entry(2).logprob, std::log(0.5F));
}

TEST(PromptLogprobsTest, LogitsThatAreNoNumbersLeaveRoomUnfilled) {
  PromptLogprobs prompt(2);
  prompt.begin(std::vector<TokenId>{0, 1});
  read(prompt, 0, {kNever, kNever});
  ASSERT_TRUE(prompt.complete());
  EXPECT_EQ(prompt.entry(1).logprob, kNever);
  EXPECT_EQ(prompt.entry(1).top[0].token, kNoToken);
}

TEST(PromptLogprobsTest, APromptOfOneTokenIsCompleteAtOnce) {
  PromptLogprobs prompt(1);
  EXPECT_FALSE(prompt.complete());
  prompt.begin(std::vector<TokenId>{7});
  EXPECT_TRUE(prompt.complete());
  EXPECT_EQ(prompt.end_position(), 0);
}

}  // namespace
}  // namespace weft
