#include "weft/schedule/waiting/keyed_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>

namespace weft {
namespace {

/// It has so few values that every chain is long.
struct Colliding {
  std::size_t operator()(int key) const noexcept { return static_cast<std::size_t>(key % 3); }
};

template <class Hash>
void expect_like_a_map(std::size_t expected) {
  KeyedPool<int, int, Hash> pool(expected);
  std::map<int, std::pair<Slot, int>> model;
  std::mt19937 random(3);
  for (int event = 0; event < 20000; ++event) {
    const int key = static_cast<int>(random() % 200);
    const auto known = model.find(key);
    const Slot slot = pool.find(key);
    ASSERT_EQ(slot, known == model.end() ? kNoSlot : known->second.first);
    if (slot == kNoSlot) {
      model[key] = {pool.insert(key, event), event};
    } else {
      ASSERT_EQ(pool[slot], known->second.second);
      if (event % 2 == 0) {
        pool.erase(slot);
        model.erase(known);
      }
    }
    ASSERT_EQ(pool.size(), model.size());
  }
}

TEST(KeyedPool, FindsWhatAMapFindsWhileValuesKeepTheirSlots) {
  expect_like_a_map<std::hash<int>>(1000);
}
TEST(KeyedPool, FindsWhatAMapFindsWhenItHasToGrow) { expect_like_a_map<std::hash<int>>(0); }
TEST(KeyedPool, FindsWhatAMapFindsWhenHashesCollide) { expect_like_a_map<Colliding>(16); }

TEST(KeyedPool, GivesNoSlotTwice) {
  KeyedPool<int, int> pool(4);
  std::set<Slot> slots;
  for (int key = 0; key < 100; ++key) EXPECT_TRUE(slots.insert(pool.insert(key, key)).second);
  pool.erase(pool.find(40));
  EXPECT_LT(pool.insert(1000, 0), 100) << "a slot that is free is used first";
}

}  // namespace
}  // namespace weft
