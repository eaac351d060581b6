#include "weft/schedule/waiting/rising_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace weft {
namespace {

using ::testing::ElementsAre;

TEST(RisingHeap, SeesKeysThatRoseSinceTheyWereInserted) {
  std::vector<int> keys = {1, 2, 3};
  RisingHeap<int> heap(0);
  for (Slot slot = 0; slot < 3; ++slot) heap.insert(slot, keys[static_cast<std::size_t>(slot)]);
  const auto key_of = [&](Slot slot) { return keys[static_cast<std::size_t>(slot)]; };
  EXPECT_EQ(heap.top(key_of), 0);
  keys[0] = 10;
  EXPECT_EQ(heap.top(key_of), 1);
  EXPECT_EQ(heap.key(2), 3);
  keys[1] = 4;
  std::vector<Slot> order;
  heap.visit_in_order(key_of, [&](Slot slot) {
    order.push_back(slot);
    return true;
  });
  EXPECT_THAT(order, ElementsAre(2, 1, 0));
}

TEST(RisingHeap, StopsAVisitWhenItIsTold) {
  RisingHeap<int> heap(8);
  for (Slot slot = 0; slot < 8; ++slot) heap.insert(slot, slot);
  int visits = 0;
  heap.visit_in_order([](Slot slot) { return int{slot}; }, [&](Slot) { return ++visits < 3; });
  EXPECT_EQ(visits, 3);
}

/// Compares with sorting, while keys rise, go down by set_key, come and go.
TEST(RisingHeap, VisitsInTheOrderOfTrueKeysInAnyHistory) {
  constexpr Slot kSlots = 40;
  std::mt19937 random(11);
  RisingHeap<std::pair<int, Slot>> heap(4);  // pairs, so that keys differ and the order is one
  std::vector<int> keys(kSlots);
  std::vector<bool> inside(kSlots);
  const auto true_key = [&](Slot slot) {
    return std::pair(keys[static_cast<std::size_t>(slot)], slot);
  };
  for (int event = 0; event < 20000; ++event) {
    const auto slot = static_cast<Slot>(random() % kSlots);
    const auto at = static_cast<std::size_t>(slot);
    if (!inside[at]) {
      keys[at] = static_cast<int>(random() % 1000);
      heap.insert(slot, {keys[at] / 2, slot});
      inside[at] = true;
    } else if (random() % 4 == 0) {
      heap.erase(slot);
      inside[at] = false;
    } else if (random() % 4 == 0) {
      keys[at] = static_cast<int>(random() % 1000);
      heap.set_key(slot, true_key(slot));
    } else {
      keys[at] += static_cast<int>(random() % 100);
    }
    if (event % 5 != 0) continue;
    std::vector<std::pair<int, Slot>> expected;
    for (Slot each = 0; each < kSlots; ++each) {
      if (inside[static_cast<std::size_t>(each)]) expected.push_back(true_key(each));
    }
    std::ranges::sort(expected);
    expected.resize(std::min<std::size_t>(expected.size(), random() % 10));
    std::vector<std::pair<int, Slot>> seen;
    heap.visit_in_order(true_key, [&](Slot each) {
      if (seen.size() == expected.size()) return false;
      seen.push_back(true_key(each));
      return true;
    });
    ASSERT_EQ(seen, expected);
  }
}

}  // namespace
}  // namespace weft
