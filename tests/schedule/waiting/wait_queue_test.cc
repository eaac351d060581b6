#include "weft/schedule/waiting/wait_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ClientId kAnna{1};
constexpr ClientId kBert{2};

WaitItem chat(ClientId client, std::uint64_t order, std::int32_t priority = 0) {
  return {.cls = RequestClass::kChat, .priority = priority, .client = client, .order = order};
}

/// Returns the orders of the first of a class.
std::vector<std::uint64_t> orders(const WaitQueue& queue, const ServedTokens& served,
                                  std::size_t most = 100, RequestClass cls = RequestClass::kChat,
                                  std::size_t most_of_one_line = WaitQueue::kUnlimited) {
  std::vector<WaitItem*> out(most);
  out.resize(queue.candidates(cls, served, out, most_of_one_line));
  std::vector<std::uint64_t> found;
  for (const WaitItem* item : out) found.push_back(item->order);
  return found;
}

class WaitQueueTest : public ::testing::Test {
 protected:
  WaitItem& wait(WaitItem item) {
    items_.push_back(item);
    queue_.push(items_.back());
    return items_.back();
  }

  WaitQueue queue_;
  ServedTokens served_;

 private:
  std::deque<WaitItem> items_;
};

TEST_F(WaitQueueTest, LeavesOutTheLinesThatAreRefused) {
  WaitItem adapted = chat(kAnna, 2);
  adapted.adapter.bytes[0] = std::byte{1};
  wait(chat(kAnna, 1));
  wait(adapted);
  adapted.order = 3;
  wait(adapted);
  wait(chat(kBert, 4));
  std::vector<WaitItem*> out(10);
  std::vector<std::pair<std::uint64_t, std::size_t>> asked;
  const auto takes = [&](WaitItem& first, std::size_t before) {
    asked.emplace_back(first.order, before);
    return !first.adapter;
  };
  out.resize(queue_.candidates(RequestClass::kChat, served_, out, 9, takes));
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0]->order, 1U);
  EXPECT_EQ(out[1]->order, 4U);
  EXPECT_THAT(asked, ElementsAre(std::pair(1U, 0U), std::pair(2U, 1U), std::pair(4U, 1U)))
      << "each line by its first, in order";
}

TEST_F(WaitQueueTest, BeginsEmpty) {
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_THAT(orders(queue_, served_), IsEmpty());
}

TEST_F(WaitQueueTest, AdmitsOneClientsItemsByArrival) {
  wait(chat(kAnna, 5));
  wait(chat(kAnna, 6));
  wait(chat(kAnna, 9));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(5, 6, 9));
  EXPECT_THAT(orders(queue_, served_, 2), ElementsAre(5, 6));
  EXPECT_THAT(orders(queue_, served_, 0), IsEmpty());
  EXPECT_EQ(queue_.size(), 3U);
}

TEST_F(WaitQueueTest, PutsWhatWasPreemptedBeforeWhatCameLater) {
  wait(chat(kAnna, 5));
  wait(chat(kAnna, 9));
  wait(chat(kAnna, 2));
  wait(chat(kAnna, 8));
  wait(chat(kAnna, 7));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(2, 5, 7, 8, 9));
  wait(chat(kAnna, 10));
  wait(chat(kAnna, 1));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(1, 2, 5, 7, 8, 9, 10));
}

TEST_F(WaitQueueTest, MovesALineForwardWhenItGetsAnEarlierFirst) {
  wait(chat(kAnna, 5));
  wait(chat(kBert, 6));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(5, 6));
  wait(chat(kBert, 4));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(4, 6, 5));
}

TEST_F(WaitQueueTest, AdmitsTheLowerPriorityNumberFirst) {
  wait(chat(kAnna, 1, 3));
  wait(chat(kAnna, 2, -7));
  wait(chat(kBert, 3, 0));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(2, 3, 1));
}

TEST_F(WaitQueueTest, AdmitsTheClientThatWasServedLeastFirst) {
  served_.arrive(kAnna);
  served_.arrive(kBert);
  wait(chat(kAnna, 1));
  wait(chat(kAnna, 2));
  wait(chat(kBert, 3));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(1, 2, 3)) << "equal counters: by arrival";
  served_.charge_prompt(kAnna, 10);
  EXPECT_THAT(orders(queue_, served_), ElementsAre(3, 1, 2));
  served_.charge_prompt(kBert, 11);
  EXPECT_THAT(orders(queue_, served_), ElementsAre(1, 2, 3));
}

TEST_F(WaitQueueTest, LetsThePriorityDecideBeforeTheCounter) {
  served_.charge_prompt(kAnna, 1000);
  wait(chat(kBert, 1, 1));
  wait(chat(kAnna, 2, 0));
  EXPECT_THAT(orders(queue_, served_), ElementsAre(2, 1));
}

TEST_F(WaitQueueTest, KeepsTheClassesApart) {
  wait(chat(kAnna, 1));
  wait({.cls = RequestClass::kBatch, .client = kAnna, .order = 2});
  EXPECT_EQ(queue_.size(), 2U);
  EXPECT_THAT(orders(queue_, served_), ElementsAre(1));
  EXPECT_THAT(orders(queue_, served_, 9, RequestClass::kBatch), ElementsAre(2));
}

TEST_F(WaitQueueTest, KeepsRoomForOthersBesideAClientWhoseItemsDoNotFit) {
  for (std::uint64_t order = 1; order <= 10; ++order) wait(chat(kAnna, order));
  wait(chat(kBert, 11));
  wait(chat(kBert, 12));
  EXPECT_THAT(orders(queue_, served_, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(orders(queue_, served_, 4, RequestClass::kChat, 1), ElementsAre(1, 11));
  EXPECT_THAT(orders(queue_, served_, 3, RequestClass::kChat, 2), ElementsAre(1, 2, 11));
  EXPECT_THAT(orders(queue_, served_, 3, RequestClass::kChat, 0), IsEmpty());
}

TEST_F(WaitQueueTest, RemovesFromAnyPlace) {
  WaitItem& first = wait(chat(kAnna, 1));
  WaitItem& middle = wait(chat(kAnna, 2));
  wait(chat(kBert, 3));
  WaitItem& last = wait(chat(kAnna, 4));
  queue_.remove(middle);
  EXPECT_THAT(orders(queue_, served_), ElementsAre(1, 4, 3));
  queue_.remove(first);
  EXPECT_THAT(orders(queue_, served_), ElementsAre(3, 4)) << "Anna's first is the later one now";
  queue_.remove(last);
  EXPECT_THAT(orders(queue_, served_), ElementsAre(3));
  queue_.push(middle);
  EXPECT_THAT(orders(queue_, served_), ElementsAre(2, 3));
}

/// Compares with sorting all that waits, while counters rise behind the queue's back.
TEST_F(WaitQueueTest, AdmitsInTheStatedOrderInAnyHistory) {
  std::mt19937 random(2);
  std::vector<WaitItem> pool(400);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    pool[i].cls = kRequestClasses.at(random() % 2);
    pool[i].priority = static_cast<std::int32_t>(random() % 3) - 1;
    pool[i].client = ClientId(random() % 12);
  }
  std::vector<WaitItem*> waiting;
  for (std::uint64_t event = 0; event < 20000; ++event) {
    WaitItem& item = pool[random() % pool.size()];
    if (item.line == kNoSlot) {
      // One of four was preempted, and has its old number.
      if (item.order == 0 || random() % 4 != 0) item.order = event + 1;
      queue_.push(item);
      waiting.push_back(&item);
    } else {
      queue_.remove(item);
      std::erase(waiting, &item);
    }
    served_.charge_output(ClientId(random() % 12), static_cast<std::int64_t>(random() % 50));
    if (event % 4 != 0) continue;
    ASSERT_EQ(queue_.size(), waiting.size());
    for (const RequestClass cls : kRequestClasses) {
      using Key = std::tuple<std::int32_t, double, std::uint64_t, ClientId, std::uint64_t>;
      std::map<std::pair<std::int32_t, ClientId>, std::uint64_t> first;
      for (const WaitItem* each : waiting) {
        if (each->cls != cls) continue;
        auto& least = first.try_emplace({each->priority, each->client}, each->order).first->second;
        least = std::min(least, each->order);
      }
      std::vector<Key> expected;
      for (const WaitItem* each : waiting) {
        if (each->cls != cls) continue;
        expected.emplace_back(each->priority, served_.counter(each->client),
                              first[{each->priority, each->client}], each->client, each->order);
      }
      std::ranges::sort(expected);
      expected.resize(std::min<std::size_t>(expected.size(), random() % 40));
      std::vector<std::uint64_t> expected_orders;
      for (const Key& key : expected) expected_orders.push_back(std::get<4>(key));
      ASSERT_EQ(orders(queue_, served_, expected.size(), cls), expected_orders) << event;
    }
  }
}

using WaitQueueDeathTest = WaitQueueTest;

TEST_F(WaitQueueDeathTest, KnowsMisuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  WaitItem& item = wait(chat(kAnna, 1));
  WaitItem other = chat(kAnna, 2);
  WEFT_EXPECT_BUG(queue_.push(item), "waits already");
  WEFT_EXPECT_BUG(queue_.remove(other), "does not wait");
}

}  // namespace
}  // namespace weft
