// Groups with adapters, on a device with places for few. The fixture's device gives other tokens
// with another adapter, and takes no row whose adapter is not in a place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

class SchedulerAdaptersTest : public SchedulerFixture {
 protected:
  static SchedulerOptions with_places(std::int32_t places, std::int32_t stages = 1) {
    SchedulerOptions options = roomy();
    options.limits.adapter_places = places;
    options.limits.stages = stages;
    return options;
  }
  /// Runs ticks until the group runs; returns how many.
  int ticks_to_begin(const GroupOutcome& outcome) {
    int ticks = 0;
    while (!runs(outcome) && ticks < 1000) {
      EXPECT_TRUE(tick());
      ++ticks;
    }
    return ticks;
  }
  void finish_and_compare() {
    finish_all();
    for (const GroupOutcome& one : outcomes_) {
      if (one.end == GroupEnd::kDone) {
        EXPECT_EQ(one.outputs[0], alone(one)) << one.number;
      }
    }
  }
  [[nodiscard]] std::uint64_t loads() const { return scheduler_->stats().adapters.loads; }
};

TEST_F(SchedulerAdaptersTest, OthersBeginBeforeAGroupWhoseAdapterIsBeingLoaded) {
  start(with_places(2));
  GroupOutcome& adapted = submit({.adapter = 1});
  GroupOutcome& plain = submit({});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().adapters.size(), 1U);
  EXPECT_EQ(newest().adapters[0].adapter->id, fake_prepared(1)->id);
  EXPECT_TRUE(runs(plain));
  EXPECT_FALSE(runs(adapted));
  ASSERT_TRUE(plan());
  EXPECT_FALSE(runs(adapted)) << "nothing says yet that it is there";
  run();
  run();
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(adapted));
  EXPECT_TRUE(newest().adapters.empty());
  finish_and_compare();
  EXPECT_EQ(loads(), 1U);
}

TEST_F(SchedulerAdaptersTest, ALoadIsAPlanOfItsOwnWhereNothingElseRuns) {
  start(with_places(1));
  GroupOutcome& group = submit({.adapter = 1});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(newest().entries.empty());
  EXPECT_EQ(newest().adapters.size(), 1U);
  EXPECT_FALSE(plan()) << "it is under way";
  run();
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(group));
  finish_and_compare();
}

TEST_F(SchedulerAdaptersTest, WaitsForACopyThatTakesLongerThanItsStep) {
  adapter_steps_ = [] { return 3; };
  start(with_places(1));
  submit({.max_tokens = 20});
  GroupOutcome& group = submit({.adapter = 1});
  EXPECT_EQ(ticks_to_begin(group), 5) << "the step of the load, three more, and its own";
  finish_and_compare();
}

TEST_F(SchedulerAdaptersTest, AsksForNewsOfACopyWhenNothingRunsAnyMore) {
  adapter_steps_ = [] { return 50; };
  start(with_places(1));
  submit({.max_tokens = 1});
  GroupOutcome& group = submit({.adapter = 1});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_TRUE(newest().entries.empty());
  EXPECT_TRUE(newest().adapters.empty());
  EXPECT_FALSE(plan());
  run();
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(group));
  finish_and_compare();
}

TEST_F(SchedulerAdaptersTest, KeepsAdaptersAndGivesUpTheOneUsedLongestAgo) {
  start(with_places(2));
  for (const std::uint64_t adapter : {1U, 2U, 1U, 3U, 1U, 2U}) {
    submit({.adapter = adapter});
    finish_and_compare();
  }
  EXPECT_EQ(loads(), 4U) << "1, 2, 3 in the place of 2, and 2 in that of 3";
}

TEST_F(SchedulerAdaptersTest, APlaceGoesOnlyOnceNoPlanUnderWayUsesIt) {
  start(with_places(1));
  GroupOutcome& first = submit({.max_tokens = 20, .adapter = 1});
  EXPECT_EQ(ticks_to_begin(first), 2);
  ASSERT_TRUE(plan());
  ASSERT_TRUE(plan());
  end(first);
  GroupOutcome& second = submit({.adapter = 2});
  GroupOutcome& plain = submit({.max_tokens = 20});
  amend();
  EXPECT_TRUE(newest().adapters.empty()) << "the plan before uses the place";
  EXPECT_TRUE(runs(plain));
  run();
  ASSERT_TRUE(plan());
  EXPECT_TRUE(newest().adapters.empty()) << "the amended plan used it before";
  run();
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().adapters.size(), 1U);
  finish_and_compare();
  EXPECT_EQ(second.end, GroupEnd::kDone);
}

TEST_F(SchedulerAdaptersTest, AGroupThatArrivesIsAskedForInThePlanThatWaits) {
  start(with_places(1));
  submit({.max_tokens = 20});
  ASSERT_TRUE(plan());
  submit({.adapter = 1});
  amend();
  EXPECT_EQ(newest().adapters.size(), 1U);
  amend();
  EXPECT_EQ(newest().adapters.size(), 1U) << "once";
  finish_and_compare();
  EXPECT_EQ(loads(), 1U);
}

TEST_F(SchedulerAdaptersTest, AnAdapterThatIsUsedWithoutEndGivesItsPlaceUp) {
  start(with_places(1));
  submit({.max_tokens = 4, .adapter = 1});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tick());
  GroupOutcome& rare = submit({.adapter = 2});
  std::int32_t later = 0;
  while (!runs(rare) && later < 200) {
    submit({.max_tokens = 4, .adapter = 1});  // so that some always run
    ++later;
    ASSERT_TRUE(tick());
  }
  EXPECT_GE(later, Admission::kMaxOvertakes);
  EXPECT_LE(later, Admission::kMaxOvertakes + 16);
  finish_and_compare();
}

TEST_F(SchedulerAdaptersTest, AnAdapterStaysWhenTheGroupIsGoneForWhichItWasToLeave) {
  start(with_places(1));
  submit({.max_tokens = 100, .adapter = 1});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tick());
  GroupOutcome& rare = submit({.adapter = 2});
  for (std::int32_t i = 0; i <= Admission::kMaxOvertakes; ++i) {
    submit({.max_tokens = 1, .adapter = 1});
    ASSERT_TRUE(tick());
  }
  GroupOutcome& next = submit({.max_tokens = 1, .adapter = 1});
  ASSERT_TRUE(tick());
  EXPECT_FALSE(next.end) << "the place is to be the other adapter's";
  end(rare);
  ASSERT_TRUE(tick());
  EXPECT_TRUE(next.end);
  finish_and_compare();
  EXPECT_EQ(loads(), 1U);
}

TEST_F(SchedulerAdaptersTest, BatchGivesUpItsPlaceForChat) {
  start(with_places(1));
  GroupOutcome& batch = submit({.max_tokens = 200, .cls = RequestClass::kBatch, .adapter = 1});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(tick());
  GroupOutcome& chat = submit({.adapter = 2});
  EXPECT_LE(ticks_to_begin(chat), 4);
  EXPECT_FALSE(runs(batch));
  finish_and_compare();
  EXPECT_EQ(batch.end, GroupEnd::kDone);
}

TEST_F(SchedulerAdaptersTest, BatchGivesUpItsPlaceForChatAlsoWhileAGroupWaitsForRows) {
  SchedulerOptions options = with_places(1);
  options.limits.rows = 3;
  start(options);
  GroupOutcome& batch = submit({.max_tokens = 200, .cls = RequestClass::kBatch, .adapter = 1});
  GroupOutcome& lasting = submit({.max_tokens = 200});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tick());
  ASSERT_TRUE(runs(batch) && runs(lasting));
  GroupOutcome& wide = submit({.sequences = 3});
  for (std::int32_t i = 0; i <= Admission::kMaxOvertakes; ++i) {
    submit({.max_tokens = 1});
    ASSERT_TRUE(tick());
  }
  GroupOutcome& late = submit({.max_tokens = 1});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(!late.end && !runs(late)) << "the wide group is overtaken no more";
  submit({.client = 2, .adapter = 2});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(wide));
  EXPECT_FALSE(runs(batch));
  EXPECT_EQ(loads(), 2U);
  end(wide);
  finish_and_compare();
  EXPECT_EQ(batch.end, GroupEnd::kDone);
}

TEST_F(SchedulerAdaptersTest, ChatKeepsItsPlaceBeforeBatch) {
  start(with_places(1));
  GroupOutcome& chat = submit({.max_tokens = 60, .adapter = 1});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tick());
  GroupOutcome& batch = submit({.cls = RequestClass::kBatch, .adapter = 2});
  for (std::int32_t i = 0; i < 2 * Admission::kMaxOvertakes && !chat.end; ++i) {
    submit({.max_tokens = 1, .cls = RequestClass::kBatch});
    ASSERT_TRUE(tick());
  }
  EXPECT_FALSE(runs(batch));
  GroupOutcome& more = submit({.adapter = 1});
  ASSERT_TRUE(tick());
  EXPECT_TRUE(runs(more)) << "its adapter is not leaving";
  finish_and_compare();
  EXPECT_EQ(batch.end, GroupEnd::kDone);
}

TEST_F(SchedulerAdaptersTest, GroupsWithoutRowsDoNotTakeAPlaceFromEachOther) {
  SchedulerOptions options = with_places(2);
  options.limits.rows = 1;
  start(options);
  for (std::uint64_t adapter = 1; adapter <= 20; ++adapter) submit({.adapter = adapter});
  finish_and_compare();
  EXPECT_EQ(loads(), 20U) << "each once";
}

TEST_F(SchedulerAdaptersTest, ManyThatLackTheirAdaptersHoldNobodyUp) {
  start(with_places(1));
  for (std::uint64_t adapter = 1; adapter <= 100; ++adapter) submit({.adapter = adapter});
  GroupOutcome& plain = submit({});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(plain));
  finish_and_compare();
}

TEST_F(SchedulerAdaptersTest, ALostStepEndsWhoWaitsForItsLoadsAndForgetsThem) {
  adapter_steps_ = [] { return 2; };
  start(with_places(2));
  submit({.max_tokens = 40});
  ASSERT_TRUE(tick());
  GroupOutcome& first = submit({.adapter = 1});
  ASSERT_TRUE(plan());
  GroupOutcome& second = submit({.adapter = 2});
  ASSERT_TRUE(plan());
  GroupOutcome& third = submit({.adapter = 3});
  run();
  lose();
  EXPECT_EQ(first.end, GroupEnd::kFailed) << "its copy has not ended";
  EXPECT_EQ(second.end, GroupEnd::kFailed);
  EXPECT_FALSE(third.end);
  submit({.adapter = 1});
  submit({.adapter = 2});
  finish_and_compare();
  EXPECT_EQ(loads(), 5U);
}

TEST_F(SchedulerAdaptersTest, PagesOfAnotherAdapterAreNotFound) {
  start(with_places(3));
  for (const std::uint64_t adapter : {0U, 1U, 2U}) {
    EXPECT_EQ(submit({.prompt = 20, .text = 5, .adapter = adapter}).cached, -1);
    finish_and_compare();
    EXPECT_EQ(outcomes_.back().cached, 0) << adapter;
  }
  submit({.prompt = 20, .text = 5, .adapter = 1});
  finish_and_compare();
  EXPECT_EQ(outcomes_.back().cached, 19);
}

TEST_F(SchedulerAdaptersTest, CountsWhatRunsAndWhatWaits) {
  start(with_places(1));
  submit({.max_tokens = 40, .adapter = 1});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  submit({.adapter = 2});
  submit({.adapter = 2});
  submit({.adapter = 3});
  ASSERT_TRUE(tick());
  const AdapterStats stats = scheduler_->stats().adapters;
  EXPECT_EQ(stats.running, 1);
  EXPECT_EQ(stats.waiting, 2);
  EXPECT_EQ(stats.bytes, 1000U);
  finish_and_compare();
  EXPECT_EQ(scheduler_->stats().adapters.running, 0);
  EXPECT_EQ(scheduler_->stats().adapters.waiting, 0);
}

TEST_F(SchedulerAdaptersTest, ADeviceWithoutPlacesTakesNoAdapters) {
  start(with_places(0));
  GroupSpec spec;
  spec.prompt = {1};
  spec.sampling = std::make_shared<const SamplingParams>();
  EXPECT_EQ(scheduler_->never_fits(spec), "");
  spec.traits.kv.adapter = fake_prepared(1)->id;
  EXPECT_THAT(scheduler_->never_fits(spec), testing::HasSubstr("no places for adapters"));
}

/// Adapters come, go and are replaced, more of them than there are places; groups end early, give
/// way and are lost.
class RandomAdaptersTest : public SchedulerAdaptersTest {
 protected:
  void play(std::uint64_t seed, std::int32_t stages) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t most) { return random() % most; };
    SchedulerOptions options = with_places(static_cast<std::int32_t>(1 + below(4)), stages);
    options.limits.rows = static_cast<std::int32_t>(2 + below(6));
    options.limits.pages = static_cast<std::int32_t>(24 + below(40));
    adapter_steps_ = [&] { return static_cast<std::int32_t>(below(4)); };
    start(options);
    const std::uint64_t adapters = 1 + below(12);
    for (int event = 0; event < 400; ++event) {
      const std::uint64_t what = below(10);
      if (what < 2) {
        submit({.prompt = static_cast<std::int32_t>(1 + below(20)),
                .max_tokens = static_cast<std::int32_t>(1 + below(12)),
                .sequences = static_cast<std::int32_t>(1 + below(2)),
                .cls = below(2) == 0 ? RequestClass::kBatch : RequestClass::kChat,
                .client = below(3),
                .text = 1 + below(3),
                .adapter = below(4) == 0 ? 0 : 1 + below(adapters)});
      } else if (what == 2 && !outcomes_.empty()) {
        end_one(outcomes_[below(outcomes_.size())]);
      } else if (what == 3 && planned() > 0) {
        amend();
      } else if (what < 7 && std::cmp_less_equal(planned(), stages)) {
        static_cast<void>(plan());
      } else if (planned() > 0) {
        below(30) == 0 ? lose_all_planned() : run();
      }
    }
    finish_all();
    for (const GroupOutcome& one : outcomes_) EXPECT_TRUE(one.end) << one.number;
    outcomes_.clear();
  }

 private:
  void end_one(GroupOutcome& outcome) {
    if (!outcome.end) end(outcome);
  }
  /// A lost step costs those planned after it.
  void lose_all_planned() {
    while (planned() > 0) lose();
  }
};

TEST_F(RandomAdaptersTest, EachGroupGetsTheTokensOfItsAdapterAndEnds) {
  for (const std::int32_t stages : {1, 2, 3}) {
    for (std::uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", stages " + std::to_string(stages));
      play(seed, stages);
    }
  }
}

}  // namespace
}  // namespace weft::test
