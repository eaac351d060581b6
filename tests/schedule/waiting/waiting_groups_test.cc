#include "weft/schedule/waiting/waiting_groups.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

/// Returns the `chat` groups to admit next, as numbers of arrival.
std::vector<std::uint64_t> next_of(const WaitingGroups& waiting, std::size_t of_one_client = 8) {
  std::array<Group*, 8> groups{};
  const std::size_t count = waiting.candidates(RequestClass::kChat, groups, of_one_client);
  std::vector<std::uint64_t> orders;
  for (std::size_t i = 0; i < count; ++i) orders.push_back(groups[i]->order);
  return orders;
}

using Orders = std::vector<std::uint64_t>;

TEST(WaitingGroups, GivesThoseOfAClassInTheOrderOfTheirArrival) {
  SchedulerParts parts;
  parts.arrive({});
  parts.arrive({.cls = RequestClass::kBatch});
  parts.arrive({});
  EXPECT_EQ(next_of(parts.waiting), (Orders{1, 3}));
  EXPECT_EQ(parts.waiting.size(), 3U);
}

TEST(WaitingGroups, GivesNoMoreOfOneClientThanWasAskedFor) {
  SchedulerParts parts;
  for (int i = 0; i < 3; ++i) parts.arrive({.client = 1});
  parts.arrive({.client = 2});
  EXPECT_EQ(next_of(parts.waiting, 2), (Orders{1, 2, 4}));
}

TEST(WaitingGroups, LetsThoseThatGaveWayGoBeforeWhoCameLater) {
  SchedulerParts parts;
  Group& first = parts.arrive({});
  parts.arrive({});
  parts.waiting.admit(first);
  EXPECT_EQ(next_of(parts.waiting), (Orders{2}));
  parts.waiting.come_back(first);
  EXPECT_EQ(first.phase, GroupPhase::kWaiting);
  EXPECT_EQ(next_of(parts.waiting), (Orders{1, 2}));
}

TEST(WaitingGroups, LetsTheClientThatWasServedLessGoFirst) {
  SchedulerParts parts;
  Group& served = parts.arrive({.client = 1});
  parts.arrive({.client = 1});
  parts.arrive({.client = 2});
  EXPECT_EQ(next_of(parts.waiting), (Orders{1, 2, 3}));
  parts.waiting.admit(served);
  EXPECT_EQ(next_of(parts.waiting), (Orders{3, 2}));
}

TEST(WaitingGroups, ChargesAPromptOnceHoweverOftenItsGroupBegins) {
  SchedulerParts parts;
  Group& again = parts.arrive({.prompt = 10, .client = 1});
  Group& other = parts.arrive({.prompt = 15, .client = 2});
  parts.arrive({.client = 1});
  parts.arrive({.client = 2});
  parts.waiting.admit(again);
  parts.waiting.come_back(again);
  parts.waiting.admit(again);
  parts.waiting.admit(other);
  // If it were charged twice, client 1 would have 20 against 15.
  EXPECT_EQ(next_of(parts.waiting), (Orders{3, 4}));
}

TEST(WaitingGroups, ChargesOutputsToTheClientInItsClass) {
  SchedulerParts parts;
  Group& runs = parts.arrive({.prompt = 1, .client = 1});
  parts.arrive({.client = 1});
  parts.arrive({.client = 2});
  parts.waiting.admit(runs);
  parts.waiting.charge_output(runs, 100);
  EXPECT_EQ(next_of(parts.waiting), (Orders{3, 2}));
}

TEST(WaitingGroups, RemembersSinceWhenSomebodyWaits) {
  SchedulerParts parts;
  Group& first = parts.arrive({});
  const TimePoint since = parts.now;
  parts.now += Duration(5);
  Group& second = parts.arrive({});
  EXPECT_EQ(parts.waiting.first_waits_since(), since);
  parts.waiting.leave(first);
  parts.waiting.leave(second);
  EXPECT_TRUE(parts.waiting.empty());
  parts.arrive({});
  EXPECT_EQ(parts.waiting.first_waits_since(), since + Duration(5));
}

}  // namespace
}  // namespace weft::test
