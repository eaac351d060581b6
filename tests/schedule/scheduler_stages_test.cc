// Tests of plans for a device of several stages, where as many ticks run at once. Whether a plan
// names a token that is not there yet is checked by the fixture's device.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class SchedulerStagesTest : public SchedulerFixture, public testing::WithParamInterface<int> {
 protected:
  [[nodiscard]] static SchedulerOptions staged(int stages = GetParam()) {
    SchedulerOptions options = roomy();
    options.limits.rows = 16;
    options.limits.stages = stages;
    return options;
  }
  [[nodiscard]] static std::size_t stages() { return static_cast<std::size_t>(GetParam()); }
  /// Plans as many ticks as are under way in the pipeline.
  void fill() {
    while (planned() <= stages() && plan()) {
    }
  }
  [[nodiscard]] std::int32_t decodes_of_newest() const {
    return static_cast<std::int32_t>(newest().entries.size());
  }
};

TEST_P(SchedulerStagesTest, RowsThatDecodeAreInEveryTickOnceAmongThoseThatRunAtOnce) {
  start(staged());
  for (int i = 0; i < 7; ++i) submit({.max_tokens = 40});
  for (int i = 0; i < 20; ++i) {
    fill();
    run();
  }
  for (int i = 0; i < 20; ++i) {
    fill();
    ASSERT_EQ(planned(), stages() + 1);
    EXPECT_GE(decodes_of_newest(), 7 / GetParam());
    EXPECT_LE(decodes_of_newest(), 7 / GetParam() + 1);
    run();
  }
  finish_all();
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_P(SchedulerStagesTest, OneRowHasOneTickAtATimeAndNoneIsEmpty) {
  start(staged());
  GroupOutcome& one = submit({.max_tokens = 10});
  while (!one.end) {
    ASSERT_TRUE(plan());
    EXPECT_FALSE(plan()) << "its token is not there yet";
    EXPECT_EQ(newest().entries.size(), 1U);
    run();
  }
  EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_P(SchedulerStagesTest, FewerRowsThanStagesHaveATickEach) {
  start(staged());
  for (int i = 0; i + 1 < GetParam(); ++i) submit({.max_tokens = 12});
  ASSERT_TRUE(tick());  // all prompts
  for (int i = 0; i < 10; ++i) {
    fill();
    EXPECT_EQ(planned(), stages() - 1);
    EXPECT_EQ(decodes_of_newest(), 1);
    run();
  }
}

TEST_P(SchedulerStagesTest, PiecesOfOnePromptAreInTicksThatRunAtOnce) {
  SchedulerOptions options = staged();
  options.limits.step_tokens = 16;
  start(options);
  GroupOutcome& one = submit({.prompt = 16 * 4, .max_tokens = 3});
  for (std::int32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(plan());
    EXPECT_EQ(newest().entries.at(0).start, 16 * i);
    EXPECT_TRUE(newest().samples.empty());
  }
  finish_all();
  EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_P(SchedulerStagesTest, ATickHasItsPartOfTheTimeBetweenTokens) {
  SchedulerOptions options = staged();
  options.limits.context = 20'000;
  options.limits.pages = 10'000;
  options.limits.step_tokens = 4096;
  options.target_inter_token = milliseconds(12);
  start(options, [](const Plan& plan) { return microseconds(100 + 100 * tokens_of(plan)); });
  submit({.max_tokens = 1000});
  const GroupOutcome& late = submit({.prompt = 15'000, .max_tokens = 1});
  for (int i = 0; i < 100; ++i) {
    fill();
    run();
  }
  fill();
  const PlanEntry* const entry = entry_of(late);
  ASSERT_NE(entry, nullptr);
  EXPECT_NEAR(entry->count, 120.0 / GetParam() - 2, 10)
      << "also in a tick that the stream is not in, which it waits for all the same";
}

TEST_P(SchedulerStagesTest, RowsAreEvenAgainWhenSomeHaveEnded) {
  start(staged());
  for (int i = 0; i < 12; ++i) submit({.max_tokens = i % GetParam() == 0 ? 14 : 60});
  for (int i = 0; i < 60; ++i) {
    fill();
    run();
  }
  std::int32_t left = 0;
  for (const GroupOutcome& one : outcomes_) left += one.end ? 0 : 1;
  ASSERT_LT(left, 12);
  for (std::size_t i = 0; i < 2 * stages(); ++i) {
    fill();
    EXPECT_GE(decodes_of_newest(), left / GetParam());
    EXPECT_LE(decodes_of_newest(), left / GetParam() + 1);
    run();
  }
}

TEST_P(SchedulerStagesTest, AGroupThatArrivesBeginsInThePlanThatWaits) {
  start(staged());
  for (int i = 0; i < 6; ++i) submit({.max_tokens = 30});
  for (int i = 0; i < 12; ++i) {
    fill();
    run();
  }
  fill();
  const GroupOutcome& late = submit({.prompt = 9, .max_tokens = 5});
  ASSERT_TRUE(scheduler_->changed());
  amend();
  ASSERT_NE(entry_of(late), nullptr);
  EXPECT_EQ(entry_of(late)->count, 9);
  finish_all();
  EXPECT_EQ(late.outputs[0], alone(late));
}

TEST_P(SchedulerStagesTest, SequencesThatShareAPromptGoOnSideBySide) {
  start(staged());
  const GroupOutcome& one = submit({.prompt = 10, .max_tokens = 9, .sequences = 3});
  finish_all();
  EXPECT_EQ(one.end, GroupEnd::kDone);
  for (const auto& output : one.outputs) EXPECT_EQ(output.size(), 9U);
}

TEST_P(SchedulerStagesTest, BeamsGoOnWhenAllOfThemHaveTheirCandidates) {
  const auto best_with = [this](int count) {
    start(staged(count));
    GroupOutcome& one = submit({.prompt = 6, .max_tokens = 12, .beams = 4, .text = 1});
    submit({.max_tokens = 12});
    finish_all();
    EXPECT_EQ(one.end, GroupEnd::kDone);
    return one.outputs.at(0);
  };
  const std::vector<TokenId> expected = best_with(1);
  EXPECT_EQ(best_with(GetParam()), expected);
}

TEST_P(SchedulerStagesTest, ALostTickEndsAllThatHadRowsOnceWhateverElseRuns) {
  start(staged());
  for (int i = 0; i < 6; ++i) submit({.max_tokens = 30});
  for (int i = 0; i < 10; ++i) {
    fill();
    run();
  }
  fill();
  const std::size_t under_way = planned();
  lose();
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.end, GroupEnd::kFailed);
  const GroupOutcome& next = submit({.max_tokens = 4});
  ASSERT_TRUE(plan());
  for (std::size_t i = 1; i < under_way; ++i) lose();
  EXPECT_FALSE(next.end) << "it began after the loss had been told";
  finish_all();
  EXPECT_EQ(next.outputs[0], alone(next));
}

/// All that there is, at random: what the fixture checks holds for each plan, each token and at the
/// end.
TEST_P(SchedulerStagesTest, AnyMixOfGroupsGetsWhatEachGetsAlone) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t most) {
      return static_cast<std::int32_t>(random() % most);
    };
    SchedulerOptions options = staged();
    options.limits.rows = 2 + below(9);
    options.limits.step_tokens = options.limits.rows + 1 + below(30);
    options.limits.cross_pages = 40;
    options.limits.context = 64;
    const bool slabs = below(3) == 0;
    options.layout = slabs ? KvLayout::kSlab : KvLayout::kPages;
    options.limits.pages = slabs ? options.limits.rows * 16 : 24 + below(60);
    options.decode_every = 1 + below(3);
    if (below(4) == 0) options.admission = AdmissionMode::kReserve;
    start(options);
    const std::size_t first = outcomes_.size();
    for (int event = 0; event < 400 && !HasFailure(); ++event) {
      const std::int32_t what = below(100);
      if (what < 10) {
        Ask ask;
        ask.prompt = 1 + below(30);
        ask.max_tokens = 1 + below(20);
        if (below(2) == 0) ask.text = 1 + static_cast<std::size_t>(below(3));
        ask.cls = below(2) == 0 ? RequestClass::kChat : RequestClass::kBatch;
        ask.seed = random();
        if (below(3) == 0)
          ask.sequences = 1 + below(static_cast<std::uint64_t>(std::min(3, options.limits.rows)));
        if (!slabs && below(5) == 0) {
          ask.beams = 2;
          ask.sequences = 1;
        }
        ask.has_forced = ask.beams == 1 && below(3) == 0;
        if (below(5) == 0) ask.encoder_input = 1 + below(8);
        ask.encoder_input = std::min(ask.encoder_input, options.limits.step_tokens);
        submit(ask);
      } else if (what < 13 && outcomes_.size() > first) {
        end(outcomes_[first + random() % (outcomes_.size() - first)]);
      } else if (what < 15 && outcomes_.size() > first) {
        GroupOutcome& one = outcomes_[first + random() % (outcomes_.size() - first)];
        if (one.ask.beams == 1)
          end_sequence(one, below(static_cast<std::uint64_t>(std::max(1, one.ask.sequences))));
      } else if (what < 35 && planned() > 0 && scheduler_->changed()) {
        amend();
      } else if (what < 36 && planned() > 0) {
        while (planned() > 0) lose();
      } else if (what < 70) {
        if (planned() <= stages()) plan();
      } else if (planned() > 0) {
        run();
      }
    }
    finish_all();
    for (std::size_t i = first; i < outcomes_.size(); ++i) {
      EXPECT_TRUE(outcomes_[i].end) << "group " << i - first << " waits for ever";
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, SchedulerStagesTest, testing::Values(2, 3));

}  // namespace
}  // namespace weft::test
