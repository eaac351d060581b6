#include "weft/gpu/host/gather_logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "weft/gpu/ranks/rank_link.h"

namespace weft {
namespace {

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

/// Returns the messages that the second of two ranks sends for outputs with these needs, with a
/// part of `width` columns.
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
  const GatherOp op{.in = 0, .out = kAbsent, .columns = {{0, width}, {width, width}}};
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

}  // namespace
}  // namespace weft
