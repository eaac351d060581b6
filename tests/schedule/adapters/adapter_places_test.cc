#include "weft/schedule/adapters/adapter_places.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/fixture/fake_device.h"

namespace weft::test {
namespace {

/// Places of a scheduler whose plans are made and run one after the other.
class AdapterPlacesTest : public testing::Test {
 protected:
  /// Returns a group that waits.
  Group& arrive(std::uint64_t adapter, RequestClass cls = RequestClass::kChat) {
    GroupSpec spec;
    spec.prompt = {1};
    spec.sampling = std::make_shared<const SamplingParams>();
    if (adapter > 0) {
      spec.adapter = fake_prepared(adapter);
      spec.traits.kv.adapter = spec.adapter->id;
    }
    Group& group = groups_.emplace_back(std::move(spec));
    group.cls = cls;
    places_.arrive(group);
    return group;
  }
  void begin(Group& group) {
    places_.leave(group);
    places_.begin(group);
    group.phase = GroupPhase::kPrompt;
    check();
  }
  void end(Group& group) {
    places_.release(group);
    group.done = true;
    check();
  }
  /// Makes a plan if loads ask for one; returns the places that it loads.
  std::vector<std::int32_t> plan() {
    clock_.begin_plan();
    tick_.clear();
    tick_.plan.tick = clock_.making();
    if (places_.begin_loads()) {
      places_.write(tick_.plan);
      clock_.write();
    }
    std::vector<std::int32_t> loaded;
    for (const PlanAdapter& one : tick_.plan.adapters) loaded.push_back(one.place);
    check();
    return loaded;
  }
  /// Takes the result of the newest plan, which names these places.
  bool run(const std::vector<std::int32_t>& ready) {
    clock_.run(clock_.newest());
    tick_.result.adapters = ready;
    const bool any = places_.take(tick_);
    check();
    return any;
  }
  /// A running group of the adapter, in the place that it gets.
  Group& use(std::uint64_t adapter, RequestClass cls = RequestClass::kChat) {
    Group& group = arrive(adapter, cls);
    places_.want(group, false);
    const std::vector<std::int32_t> loaded = plan();
    if (!loaded.empty()) run(loaded);
    begin(group);
    return group;
  }
  void check() {
    std::vector<Group*> all;
    for (Group& group : groups_) all.push_back(&group);
    places_.check(all);
  }

  PlanClock clock_;
  AdapterPlaces places_{clock_, 2};
  Tick tick_;
  std::deque<Group> groups_;
};

using Loaded = std::vector<std::int32_t>;

TEST_F(AdapterPlacesTest, AGroupWithoutAdapterHasWhatItNeeds) {
  EXPECT_TRUE(places_.has(arrive(0)));
  EXPECT_EQ(places_.stats().waiting, 0);
  EXPECT_EQ(plan(), Loaded{});
}

TEST_F(AdapterPlacesTest, AnAdapterIsThereOnceAResultOfItsLoadOrALaterOneSaysSo) {
  Group& group = arrive(1);
  EXPECT_FALSE(places_.has(group));
  EXPECT_EQ(plan(), Loaded{}) << "nobody has asked";
  places_.want(group, false);
  EXPECT_EQ(plan(), Loaded{0});
  EXPECT_FALSE(run({}));
  EXPECT_FALSE(places_.has(group)) << "it is being copied";
  EXPECT_EQ(plan(), Loaded{});
  EXPECT_TRUE(run({0}));
  EXPECT_TRUE(places_.has(group));
  begin(group);
  EXPECT_EQ(group.adapter_place, 0);
}

TEST_F(AdapterPlacesTest, AResultFromBeforeALoadSaysNothingOfIt) {
  Group& group = arrive(1);
  clock_.begin_plan();
  tick_.plan.tick = clock_.making();
  clock_.write();
  places_.want(group, false);
  clock_.begin_plan();
  ASSERT_TRUE(places_.begin_loads());
  Plan next;
  places_.write(next);
  clock_.write();
  tick_.result.adapters = {0};
  clock_.run(tick_.plan.tick);
  EXPECT_FALSE(places_.take(tick_)) << "an earlier scheduler's load";
  EXPECT_FALSE(places_.has(group));
}

TEST_F(AdapterPlacesTest, APlaceIsLoadedOnlyOnceThePlansAreOverThatMayUseIt) {
  Group& first = use(1);
  use(2);
  clock_.begin_plan();
  clock_.write();  // it may use both
  end(first);
  Group& third = arrive(3);
  places_.want(third, false);
  EXPECT_FALSE(places_.begin_loads());
  clock_.run(clock_.newest());
  EXPECT_EQ(plan(), Loaded{0});
}

TEST_F(AdapterPlacesTest, OfUnusedPlacesTheOneGoesThatWasUsedLongestAgo) {
  Group& first = use(1);
  Group& second = use(2);
  end(second);
  end(first);
  Group& third = arrive(3);
  places_.want(third, false);
  EXPECT_EQ(plan(), Loaded{1}) << "of 2";
}

TEST_F(AdapterPlacesTest, AnUnusedPlaceStaysWhileAGroupWaitsForItsAdapter) {
  end(use(1));
  use(2);
  Group& again = arrive(1);
  Group& third = arrive(3);
  places_.want(third, false);
  EXPECT_EQ(plan(), Loaded{});
  EXPECT_TRUE(places_.has(again));
  places_.leave(again);
  again.done = true;
  places_.want(third, false);
  EXPECT_EQ(plan(), Loaded{0});
}

TEST_F(AdapterPlacesTest, ChatTakesAPlaceThatOnlyBatchWaitsForOrUses) {
  end(use(1, RequestClass::kBatch));
  Group& batch = use(2, RequestClass::kBatch);
  Group& waiting = arrive(1, RequestClass::kBatch);
  EXPECT_TRUE(places_.has(waiting));
  Group& chat = arrive(3);
  places_.want(chat, false);
  EXPECT_FALSE(places_.has(waiting));
  EXPECT_EQ(plan(), Loaded{0});
  run({0});
  Group& other = arrive(4);
  places_.want(other, false);
  EXPECT_TRUE(places_.gives_way(batch));
  EXPECT_EQ(plan(), Loaded{}) << "it is used";
  end(batch);
  EXPECT_EQ(plan(), Loaded{1});
}

TEST_F(AdapterPlacesTest, AGroupThatInsistsGetsThePlaceWithTheFewestGroups) {
  use(1);
  use(1);
  Group& alone = use(2);
  Group& third = arrive(3);
  places_.want(third, false);
  Group& late = arrive(2);
  EXPECT_TRUE(places_.has(late));
  places_.want(third, true);
  EXPECT_FALSE(places_.has(late)) << "the adapter is to leave";
  EXPECT_FALSE(places_.gives_way(alone)) << "chat ends by itself";
  end(alone);
  EXPECT_EQ(plan(), Loaded{1});
}

TEST_F(AdapterPlacesTest, BatchThatInsistsTakesNoPlaceOfChat) {
  use(1);
  Group& mixed = use(2, RequestClass::kBatch);
  Group& chat = arrive(2);
  Group& batch = arrive(3, RequestClass::kBatch);
  places_.want(batch, true);
  EXPECT_TRUE(places_.has(chat));
  places_.leave(chat);
  chat.done = true;
  places_.want(batch, true);
  end(mixed);
  EXPECT_EQ(plan(), Loaded{1});
}

TEST_F(AdapterPlacesTest, ChatHurriesAnAdapterThatBatchHasAskedFor) {
  use(1);
  Group& running = use(2, RequestClass::kBatch);
  Group& batch = arrive(3, RequestClass::kBatch);
  places_.want(batch, true);
  EXPECT_FALSE(places_.gives_way(running)) << "batch waits for batch";
  Group& chat = arrive(3);
  places_.want(chat, false);
  EXPECT_TRUE(places_.gives_way(running));
  places_.leave(chat);
  chat.done = true;
  EXPECT_FALSE(places_.gives_way(running)) << "batch alone waits again";
  places_.want(batch, false);
  EXPECT_FALSE(places_.gives_way(running));
  end(running);
  EXPECT_EQ(plan(), Loaded{1});
}

TEST_F(AdapterPlacesTest, AnAdapterStaysIfNobodyWaitsForTheOneThatWasToCome) {
  use(1);
  use(2);
  Group& third = arrive(3);
  places_.want(third, true);
  Group& late = arrive(1);
  EXPECT_FALSE(places_.has(late));
  places_.leave(third);
  third.done = true;
  EXPECT_TRUE(places_.has(late));
}

TEST_F(AdapterPlacesTest, AnAdapterThatLeavesItsPlaceGetsNoOtherUntilItHasLeft) {
  Group& first = use(1);
  end(use(2));
  Group& second = use(2);
  Group& third = arrive(3);
  places_.want(third, true);
  Group& late = arrive(1);
  end(second);
  places_.want(late, true);
  end(first);
  EXPECT_EQ(plan(), Loaded{0}) << "3 alone";
  places_.want(late, false);
  EXPECT_EQ(plan(), Loaded{1});
}

TEST_F(AdapterPlacesTest, LostLoadsAreForgottenAndOthersStay) {
  Group& first = use(1);
  Group& second = arrive(2);
  places_.want(second, false);
  EXPECT_EQ(plan(), Loaded{1});
  EXPECT_TRUE(places_.is_loading(second));
  EXPECT_FALSE(places_.is_loading(first));
  static_cast<void>(clock_.lose(clock_.newest()));
  places_.forget_loads();
  check();
  EXPECT_FALSE(places_.is_loading(second));
  Group& again = arrive(1);
  EXPECT_TRUE(places_.has(again));
  places_.want(second, false);
  EXPECT_EQ(plan(), Loaded{1});
}

TEST_F(AdapterPlacesTest, MisuseIsABug) {
  Group& group = arrive(1);
  WEFT_EXPECT_BUG(places_.begin(group), "without its adapter");
  Group& other = arrive(2);
  places_.leave(other);
  WEFT_EXPECT_BUG(places_.leave(other), "not waited for");
  tick_.result.adapters = {2};
  WEFT_EXPECT_BUG(static_cast<void>(places_.take(tick_)), "a place that it lacks");
}

}  // namespace
}  // namespace weft::test
