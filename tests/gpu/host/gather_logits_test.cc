#include "weft/gpu/host/gather_logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/ranks/rank_link.h"
#include "weft/model/random_llama.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft {
namespace {

using test::PlanBuilder;
using testing::ElementsAre;

/// Notes what a rank that is not the first gives.
class NotingLink final : public RankLink {
 public:
  void all_reduce(std::span<float> /*values*/) override {}
  void gather(const ConstRows& part, std::span<const Extent> /*columns*/,
              const Rows& /*whole*/) override {
    given.push_back(std::to_string(part.count) + " x " + std::to_string(part.width));
  }
  void send(std::span<const float> /*values*/) override {}
  void receive(std::span<float> /*values*/) override {}
  void tell_tokens(std::span<const SlotToken> /*tokens*/) override {}
  std::span<const SlotToken> hear_tokens() override { return {}; }
  [[nodiscard]] Duration waited() const noexcept override { return {}; }
  void abandon() noexcept override {}

  std::vector<std::string> given;
};

/// What the second of two ranks gives of outputs with these needs, whose part is `width` wide.
std::vector<std::string> given_of(const std::vector<LogitNeeds>& needs, std::int64_t width) {
  Program program;
  program.shares_head = true;
  program.part = {.rank = 1, .ranks = 2};
  HostStep step;
  DeviceOptions options;
  options.max_outputs = 5;
  size_told_parts(step, program, options);
  step.needs = needs;
  const std::vector<float> logits(5 * static_cast<std::size_t>(width), 0.5F);
  const GatherOp op{.columns = {{0, width}, {width, width}}};
  NotingLink link;
  gather_logits(op, {logits.data(), 5, width, width}, {}, program.part, step, link);
  return link.given;
}

constexpr auto kFew = LogitNeeds::kCandidates;
constexpr auto kEach = LogitNeeds::kAll;

TEST(GatherLogits, TellsOfTheOutputsThatNeedFewAtOnce) {
  EXPECT_THAT(given_of({kFew, kFew, kFew, kFew, kFew}, 1000), ElementsAre("5 x 130"));
}

TEST(GatherLogits, GivesRunsOfOutputsWholeThatNeedAll) {
  EXPECT_THAT(given_of({kEach, kEach, kFew, kEach, kFew}, 1000),
              ElementsAre("2 x 1000", "1 x 1000", "2 x 130"));
  EXPECT_THAT(given_of({kEach, kEach, kEach, kEach, kEach}, 1000), ElementsAre("5 x 1000"));
}

TEST(GatherLogits, GivesAllWholeWhereNobodySaysOrPartsAreShort) {
  EXPECT_THAT(given_of({}, 1000), ElementsAre("5 x 1000"));
  EXPECT_THAT(given_of({kFew, kFew, kFew, kFew, kFew}, 130), ElementsAre("5 x 130"));
  EXPECT_THAT(given_of({kFew, kFew, kFew, kFew, kFew}, 100), ElementsAre("5 x 100"));
}

constexpr DeviceLimits kChoiceLimits{
    .rows = 4, .pages = 16, .page_tokens = 4, .step_tokens = 32, .context = 16, .vocabulary = 1000};

/// Choices of ranks that share the head, by what they tell and, with a bias of 0, by all logits.
class RankChoicesTest : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] StepResult choose(bool by_all) const {
    const auto device = test::ranks_kind("ranks", GetParam())
                            .load_steps(llama_.checkpoint(), llama_.program(), kChoiceLimits);
    PlanBuilder plan;
    for (std::int32_t row = 0; row < 4; ++row) {
      SamplingParams params;
      params.logprobs = row != 1;
      params.top_logprobs = row == 0 ? 10 : 0;
      params.temperature = row == 0 ? 0 : 1;
      params.top_k = row == 3 ? 0 : 40;  // the last needs all in any case
      if (by_all) params.logit_bias = {{0, 0.0F}};
      plan.start(row, std::make_shared<const SamplingParams>(std::move(params)), 2, {},
                 static_cast<std::uint64_t>(row));
      plan.table(row, 0, {4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3});
      plan.feed(row, 0, {row, 7 * row + 1}).sample();
    }
    StepResult all = plan.run(*device);
    for (std::int32_t at = 2; at < 12; ++at) {
      for (std::int32_t row = 0; row < 4; ++row) plan.feed_last(row, at).sample();
      const StepResult one = plan.run(*device);
      const auto tops = static_cast<std::int32_t>(all.top.size());
      all.top.insert(all.top.end(), one.top.begin(), one.top.end());
      for (SampleResult sample : one.samples) {
        sample.first_top += tops;
        all.samples.push_back(sample);
      }
    }
    return all;
  }

  const RandomLlama llama_{{.vocabulary = 1000}, 3};
};

TEST_P(RankChoicesTest, AreThoseByAllLogits) {
  const StepResult wanted = choose(true);
  const StepResult got = choose(false);
  ASSERT_EQ(got.samples.size(), 44U);
  for (std::size_t i = 0; i < got.samples.size(); ++i) {
    const SampleResult& own = got.samples[i];
    const SampleResult& other = wanted.samples[i];
    EXPECT_EQ(own.token, other.token) << i;
    EXPECT_NEAR(own.logprob, other.logprob, 2e-6) << i;
    ASSERT_EQ(own.top_count, other.top_count) << i;
    const auto tops = static_cast<std::size_t>(own.top_count);
    for (std::size_t place = 0; place < tops; ++place) {
      const TokenLogprob& a = got.top[static_cast<std::size_t>(own.first_top) + place];
      const TokenLogprob& b = wanted.top[static_cast<std::size_t>(other.first_top) + place];
      EXPECT_EQ(a.token, b.token) << i;
      EXPECT_NEAR(a.logprob, b.logprob, 2e-6) << i;
    }
  }
  EXPECT_EQ(got.samples.front().top_count, 10);
}

INSTANTIATE_TEST_SUITE_P(Cuts, RankChoicesTest,
                         testing::Values("cpu,cpu", "cpu,cpu,cpu", "cpu | cpu,cpu"),
                         [](const auto& each) { return "cut" + std::to_string(each.index); });

}  // namespace
}  // namespace weft
