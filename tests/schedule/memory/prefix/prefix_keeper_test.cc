#include "weft/schedule/memory/prefix/prefix_keeper.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

/// A group with a prompt of three pages, all of which the newest plan computes.
struct ComputedPrompt : SchedulerParts {
  ComputedPrompt() : group(begin({.prompt = 12})) {
    make_plan();
    sequence().progress.plan(12);
    memory.prefixes().note_computed(group, sequence());
  }
  Sequence& sequence() { return group.sequences[0]; }
  void make_plan() {
    clock.begin_plan();
    memory.prefixes().offer();
    clock.write();
    memory.prefixes().settle_offers();
  }
  /// Returns how many pages another group finds that has the same prompt.
  std::int32_t found() {
    const std::unique_ptr<Group> other = make_group({.prompt = 12});
    return memory.finder().count(*other, other->leader(), 11);
  }

  Group& group;
};

TEST(PrefixKeeper, OffersWhatTheNewestPlanComputesToThePlanInTheMaking) {
  ComputedPrompt parts;
  EXPECT_EQ(parts.found(), 0) << "the newest plan may still be amended";
  parts.clock.begin_plan();
  parts.memory.prefixes().offer();
  EXPECT_EQ(parts.found(), 2);
}

TEST(PrefixKeeper, KeepsWhatItOfferedIfThatPlanComesToBe) {
  ComputedPrompt parts;
  parts.make_plan();
  EXPECT_EQ(parts.sequence().table.findable, 3);
  EXPECT_EQ(parts.found(), 2);
  parts.check();
}

TEST(PrefixKeeper, TakesBackWhatItOfferedIfThatPlanComesToNothing) {
  ComputedPrompt parts;
  parts.clock.begin_plan();
  parts.memory.prefixes().offer();
  parts.memory.prefixes().settle_offers();
  EXPECT_EQ(parts.sequence().table.findable, 0);
  EXPECT_EQ(parts.found(), 0);
  parts.check();
  parts.make_plan();
  EXPECT_EQ(parts.found(), 2) << "the next plan is offered it again";
}

}  // namespace
}  // namespace weft::test
