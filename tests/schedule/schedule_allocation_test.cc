// A program of its own, because it replaces operator new.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/rows/row_shuffle.h"
#include "weft/schedule/step/step_time_model.h"
#include "weft/schedule/waiting/served_tokens.h"
#include "weft/schedule/waiting/wait_queue.h"
#include "weft/tests/fixture/allocation_count.h"

namespace weft {
namespace {

using test::allocations_of_this_thread;

TEST(AllocationCount, CountsWhatIsAllocated) {
  const auto before = allocations_of_this_thread();
  ::operator delete(::operator new(8));  // a new expression might be optimised away
  EXPECT_EQ(allocations_of_this_thread(), before + 1);
}

TEST(ScheduleAllocations, AreNoneInPagesOnceTheTablesHaveRoom) {
  PagePool pool(100);
  std::vector<PageId> table;
  table.reserve(100);
  const auto before = allocations_of_this_thread();
  for (std::int32_t round = 0; round < 1000; ++round) {
    ASSERT_TRUE(pool.take(round % 101, table));
    pool.share(table);
    pool.release(table);
    pool.release(table);
    table.clear();
  }
  EXPECT_EQ(allocations_of_this_thread(), before);
}

TEST(ScheduleAllocations, AreNoneInTheShuffleOnceTheMovesHaveRoom) {
  std::mt19937 random(1);
  std::vector<std::int64_t> costs(256);
  std::vector<PlanMove> moves;
  moves.reserve(costs.size() / 2);
  const auto before = allocations_of_this_thread();
  for (int round = 0; round < 1000; ++round) {
    for (auto& cost : costs) cost = random() % 3;
    moves.clear();
    shuffle_rows(costs, moves);
  }
  EXPECT_EQ(allocations_of_this_thread(), before);
}

TEST(ScheduleAllocations, AreNoneInQueueCountersAndModelOverTenThousandTicks) {
  constexpr std::size_t kItems = 500;
  std::mt19937 random(1);
  WaitQueue queue(kItems);
  ServedTokens served(1, 2, 100);
  StepTimeModel model;
  std::vector<WaitItem> items(kItems);
  const auto toggle = [&](WaitItem& item, std::uint64_t tick) {
    if (item.line == kNoSlot) {
      item.priority = static_cast<std::int32_t>(random());  // as many lines as items, at worst
      item.client = ClientId(random() % 100'000);
      item.order = tick;
      served.arrive(item.client);
      queue.push(item);
    } else {
      queue.remove(item);
      served.leave(item.client);
      served.charge_prompt(item.client, 100);
    }
  };
  std::array<WaitItem*, 16> out{};
  // Up to 100 clients are active at once, as many as are remembered.
  const auto before = allocations_of_this_thread();
  for (std::uint64_t tick = 0; tick < 10'000; ++tick) {
    toggle(items[random() % 100], tick);
    (void)queue.candidates(RequestClass::kChat, served, out);
    served.charge_output(ClientId(random() % 100'000), 1);
    model.learn({1, 2, 3}, std::chrono::milliseconds(2));
    (void)model.prefill_tokens_within(std::chrono::milliseconds(9), {1, 0, 3}, 100);
  }
  EXPECT_EQ(allocations_of_this_thread(), before);
}

}  // namespace
}  // namespace weft
