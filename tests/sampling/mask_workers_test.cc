#include "weft/sampling/mask_workers.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "weft/sampling/token_constraint.h"

namespace weft::test {
namespace {

constexpr std::size_t kTokens = 32;

/// Controls the masks of a test, and notes which threads made them.
struct MaskWatch {
  bool is_known = false;
  std::latch begun{1};  // the first mask has
  std::latch gate{1};   // which it then waits for
  std::vector<std::thread::id> makers{};
};

/// Allows the token after the last one.
class NextState final : public ConstraintState {
 public:
  NextState(std::shared_ptr<MaskWatch> watch, bool waits)
      : watch_(std::move(watch)), waits_(waits) {}

  void advance(std::span<const TokenId> tokens) noexcept override {
    next_ = (tokens.back() + 1) % static_cast<TokenId>(kTokens);
    is_made_ = false;
  }
  bool roll_back(std::size_t /*tokens*/) noexcept override { return false; }
  AllowedTokens allowed() noexcept override {
    if (!std::exchange(is_made_, true)) {
      if (waits_) {
        watch_->begun.count_down();
        watch_->gate.wait();
      }
      watch_->makers.push_back(std::this_thread::get_id());
    }
    return {.tokens = {&next_, 1}, .count = 1};
  }
  bool is_known(std::span<const TokenId> /*next*/) const noexcept override {
    return watch_->is_known;
  }
  std::unique_ptr<ConstraintState> clone() const override {
    auto copy = std::make_unique<NextState>(watch_, waits_);
    copy->next_ = next_;
    return copy;
  }

 private:
  const std::shared_ptr<MaskWatch> watch_;
  const bool waits_;
  TokenId next_ = 0;
  bool is_made_ = false;
};

class NextConstraint final : public TokenConstraint {
 public:
  NextConstraint(std::shared_ptr<MaskWatch> watch, bool waits)
      : watch_(std::move(watch)), waits_(waits) {}
  std::unique_ptr<ConstraintState> begin() const override {
    return std::make_unique<NextState>(watch_, waits_);
  }

 private:
  const std::shared_ptr<MaskWatch> watch_;
  const bool waits_;
};

Sampler sampler_after(TokenId token, const std::shared_ptr<MaskWatch>& watch, bool waits) {
  auto params = std::make_shared<SamplingParams>();
  params->constraint = std::make_shared<NextConstraint>(watch, waits);
  Sampler sampler(kTokens, 16);
  sampler.start(std::move(params), {}, 1, 1);
  sampler.observe(std::vector<TokenId>{3, token});
  return sampler;
}

TokenId choose(Sampler& sampler) {
  SamplerScratch scratch(kTokens);
  std::vector<float> logits(kTokens, 0);
  return sampler.sample(logits, scratch).token;
}

TEST(MaskWorkers, AMaskThatIsKnownIsLookedUpAtOnce) {
  const auto watch = std::make_shared<MaskWatch>();
  watch->is_known = true;
  Sampler sampler = sampler_after(7, watch, false);
  MaskWorkers workers(4, 1);
  workers.prepare(sampler);
  EXPECT_EQ(watch->makers, std::vector{std::this_thread::get_id()});
  workers.take_back(sampler);
  EXPECT_EQ(choose(sampler), 8);
}

TEST(MaskWorkers, AMaskThatIsNewIsMadeByAThreadThatNobodyWaitsFor) {
  const auto watch = std::make_shared<MaskWatch>();
  Sampler sampler = sampler_after(7, watch, true);
  MaskWorkers workers(4, 1);
  workers.prepare(sampler);
  watch->begun.wait();  // and this thread is here
  watch->gate.count_down();
  workers.take_back(sampler);
  EXPECT_EQ(choose(sampler), 8);
  ASSERT_EQ(watch->makers.size(), 1U);
  EXPECT_NE(watch->makers.front(), std::this_thread::get_id());
}

TEST(MaskWorkers, WhatNoThreadHasBegunIsTakenBackWithoutWaiting) {
  const auto watch = std::make_shared<MaskWatch>();
  const auto others = std::make_shared<MaskWatch>();
  Sampler slow = sampler_after(7, watch, true);
  Sampler second = sampler_after(10, others, false);
  Sampler third = sampler_after(20, others, false);
  MaskWorkers workers(3, 1);
  workers.prepare(slow);
  watch->begun.wait();
  workers.prepare(second);
  workers.prepare(third);
  workers.take_back(third);
  workers.take_back(second);
  EXPECT_EQ(choose(third), 21);
  EXPECT_EQ(choose(second), 11);
  EXPECT_EQ(others->makers, (std::vector(2, std::this_thread::get_id())));
  EXPECT_TRUE(watch->makers.empty()) << "the slow one is still under way";
  watch->gate.count_down();
  workers.take_back_all();
  EXPECT_EQ(choose(slow), 8);
}

TEST(MaskWorkers, WithoutThreadsChoicesMakeTheirMasks) {
  const auto watch = std::make_shared<MaskWatch>();
  Sampler sampler = sampler_after(7, watch, false);
  MaskWorkers workers(1, 0);
  workers.prepare(sampler);
  workers.take_back(sampler);
  EXPECT_EQ(choose(sampler), 8);
  EXPECT_EQ(watch->makers, std::vector{std::this_thread::get_id()});
}

TEST(MaskWorkers, ItsEndDropsWhatIsNotBegun) {
  const auto watch = std::make_shared<MaskWatch>();
  const auto other = std::make_shared<MaskWatch>();
  Sampler slow = sampler_after(7, watch, true);
  Sampler dropped = sampler_after(10, other, false);
  std::optional<MaskWorkers> workers(std::in_place, 2, 1);
  workers->prepare(slow);
  watch->begun.wait();
  workers->prepare(dropped);
  // The second may still be begun before the thread is told to stop: its sampler lives as long.
  std::thread ending([&] { workers.reset(); });
  watch->gate.count_down();
  ending.join();
  EXPECT_EQ(choose(slow), 8);
  EXPECT_EQ(choose(dropped), 11);
}

TEST(MaskWorkers, ManyStepsOfManyRowsChooseWhatTheyChooseAlone) {
  std::vector<std::shared_ptr<MaskWatch>> watches;
  std::vector<Sampler> samplers;
  for (TokenId i = 0; i < 8; ++i) {
    watches.push_back(std::make_shared<MaskWatch>());
    samplers.push_back(sampler_after(i, watches.back(), false));
  }
  MaskWorkers workers(samplers.size(), 3);
  for (TokenId step = 1; step < 14; ++step) {
    for (Sampler& sampler : samplers) workers.prepare(sampler);
    for (std::size_t i = 0; i < samplers.size(); ++i) {
      workers.take_back(samplers[i]);
      const TokenId token = choose(samplers[i]);
      EXPECT_EQ(token, static_cast<TokenId>(i) + step);
      samplers[i].observe({&token, 1});
    }
  }
}

}  // namespace
}  // namespace weft::test
