#include "weft/core/mailbox/mailbox.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

struct CountingWaker final : Waker {
  void wake() noexcept override { ++wakes; }
  int wakes = 0;
};

using Text = std::unique_ptr<std::string>;
Text text(const char* value) { return std::make_unique<std::string>(value); }

struct MailboxTest : testing::Test {
  std::vector<std::string> take(std::size_t most = 100) {
    std::vector<Envelope<Text>> out;
    out.reserve(most);
    mailbox.take(out, most);
    std::vector<std::string> texts;
    for (const auto& envelope : out) texts.push_back(*envelope.message);
    return texts;
  }
  PushResult push(const char* value) { return mailbox.try_push(text(value), TimePoint()); }

  CountingWaker waker;
  Mailbox<Text> mailbox{3, waker};
};

TEST_F(MailboxTest, GivesMessagesInTheOrderOfTheirPushes) {
  push("a");
  push("b");
  push("c");
  EXPECT_EQ(take(2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(take(), (std::vector<std::string>{"c"}));
  EXPECT_EQ(take(), std::vector<std::string>());
}

TEST_F(MailboxTest, KeepsTheTimeAndTheSenderInTheEnvelope) {
  mailbox.try_push(text("a"), TimePoint(5ms), ActorId(7));
  std::vector<Envelope<Text>> out;
  out.reserve(1);
  ASSERT_EQ(mailbox.take(out, 1), 1U);
  EXPECT_EQ(out[0].enqueued, TimePoint(5ms));
  EXPECT_EQ(out[0].from, ActorId(7));
}

TEST_F(MailboxTest, RefusesMoreThanItsCapacityAndLeavesTheMessageWithTheSender) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(push("x"), PushResult::kOk);
  Text refused = text("kept");
  EXPECT_EQ(mailbox.try_push(std::move(refused), TimePoint()), PushResult::kFull);
  ASSERT_TRUE(refused);  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(*refused, "kept");
  EXPECT_EQ(mailbox.size(), 3U);
  take(1);
  EXPECT_EQ(push("y"), PushResult::kOk);
}

TEST_F(MailboxTest, TakesNoMoreThanTheVectorHasRoomFor) {
  for (int i = 0; i < 3; ++i) push("x");
  std::vector<Envelope<Text>> out;
  out.reserve(2);
  EXPECT_EQ(mailbox.take(out, 100), 2U);
  EXPECT_EQ(mailbox.take(out, 100), 0U);
  EXPECT_EQ(mailbox.size(), 1U);
}

TEST_F(MailboxTest, WakesASleepingConsumerOnce) {
  EXPECT_TRUE(mailbox.try_sleep());
  EXPECT_EQ(push("a"), PushResult::kWoke);
  EXPECT_EQ(push("b"), PushResult::kOk);
  EXPECT_EQ(waker.wakes, 1);
}

TEST_F(MailboxTest, DoesNotLetItsConsumerSleepWhileAMessageOrASignalWaits) {
  push("a");
  EXPECT_FALSE(mailbox.try_sleep());
  take();
  mailbox.signal();
  EXPECT_FALSE(mailbox.try_sleep());
  EXPECT_TRUE(mailbox.take_signal());
  EXPECT_FALSE(mailbox.take_signal());
  EXPECT_TRUE(mailbox.try_sleep());
}

TEST_F(MailboxTest, WakesASleepingConsumerByASignalAndNotAnAwakeOne) {
  mailbox.signal();
  EXPECT_EQ(waker.wakes, 0);
  EXPECT_TRUE(mailbox.take_signal());
  EXPECT_TRUE(mailbox.try_sleep());
  mailbox.signal();
  mailbox.signal();
  EXPECT_EQ(waker.wakes, 1);
}

TEST_F(MailboxTest, WakesAConsumerThatFellAsleepOverItsMessages) {
  push("a");
  mailbox.sleep_anyway();
  EXPECT_EQ(push("b"), PushResult::kWoke);
  EXPECT_EQ(take(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(MailboxTest, HandsWhatWaitsBackWhenItIsClosedAndTakesNoMore) {
  push("a");
  push("b");
  std::vector<std::string> answered;
  EXPECT_EQ(mailbox.close(
                [&](Envelope<Text>&& envelope) noexcept { answered.push_back(*envelope.message); }),
            2U);
  EXPECT_EQ(answered, (std::vector<std::string>{"a", "b"}));
  Text late = text("late");
  EXPECT_EQ(mailbox.try_push(std::move(late), TimePoint()), PushResult::kClosed);
  EXPECT_TRUE(late);  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(mailbox.close([](Envelope<Text>&&) noexcept {}), 0U);
}

TEST_F(MailboxTest, KeepsTheOrderOfALaneThatMovesBetweenThreads) {
  CountingWaker idle;
  Mailbox<int> numbers(1000, idle);
  Mailbox<int>::Producer lane(numbers);
  for (int i = 0; i < 1000; ++i) {
    std::thread([&] { numbers.try_push(lane, int{i}, TimePoint()); }).join();
  }
  std::vector<Envelope<int>> out;
  out.reserve(1000);
  numbers.take(out, 1000);
  ASSERT_EQ(out.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)].message, i);
}

TEST_F(MailboxTest, ServesEveryLaneInTurn) {
  CountingWaker idle;
  Mailbox<int> numbers(100'000, idle);
  std::vector<Mailbox<int>::Producer> lanes;
  for (int lane = 0; lane < 4; ++lane) lanes.emplace_back(numbers);
  for (int lane = 0; lane < 4; ++lane) {
    for (int i = 0; i < 10'000; ++i) {
      numbers.try_push(lanes[static_cast<std::size_t>(lane)], int{lane}, TimePoint());
    }
  }
  // Each lane always has more, and yet none of the four waits for more than a few batches.
  std::vector<int> taken(4);
  for (int batch = 0; batch < 100; ++batch) {
    std::vector<Envelope<int>> out;
    out.reserve(64);
    numbers.take(out, 64);
    for (const auto& envelope : out) ++taken[static_cast<std::size_t>(envelope.message)];
  }
  for (const int count : taken) EXPECT_GT(count, 100 * 64 / 8);
}

TEST_F(MailboxTest, AcceptsTheMessagesOfAVariantOneByOne) {
  CountingWaker idle;
  Mailbox<std::variant<int, Text>> mixed(1, idle);
  EXPECT_EQ(mixed.try_push(5, TimePoint()), PushResult::kOk);
  Text refused = text("kept");
  EXPECT_EQ(mixed.try_push(std::move(refused), TimePoint()), PushResult::kFull);
  EXPECT_TRUE(refused);  // NOLINT(bugprone-use-after-move): that is the promise
}

/// Turns hot after eight messages, so that a test needs few.
struct WarmTraits : MailboxTraits {
  static constexpr std::size_t kHeatAfter = 8;
};

struct HotMailboxTest : testing::Test {
  HotMailboxTest() { batch.reserve(1000); }

  void SetUp() override {
    if (!has_heavy_fence()) GTEST_SKIP() << "this kernel has no membarrier(2): never hot";
    push(8);
    EXPECT_EQ(take(), 8U);
    push(1);  // sets 10 places aside and uses none of them
    push(1);  // uses one
  }
  PushResult push(int count) {
    PushResult result{};
    for (int i = 0; i < count; ++i) result = mailbox.try_push(lane, int{next++}, TimePoint());
    return result;
  }
  std::size_t take() {
    batch.clear();
    return mailbox.take(batch, 1000);
  }

  static constexpr std::size_t kCapacity = 640;
  CountingWaker waker;
  Mailbox<int, WarmTraits> mailbox{kCapacity, waker};
  Mailbox<int, WarmTraits>::Producer lane{mailbox};
  std::vector<Envelope<int>> batch;
  int next = 0;
};

TEST_F(HotMailboxTest, CountsPlacesThatAreSetAside) {
  EXPECT_EQ(mailbox.waiting(), 2U);
  EXPECT_EQ(mailbox.size(), 8U + 1U + 10U) << "taken and not given back, waiting, set aside";
}

TEST_F(HotMailboxTest, DoesNotSleepOverAMessageInAPlaceThatWasSetAside) {
  EXPECT_TRUE(mailbox.has_work());
  EXPECT_FALSE(mailbox.try_sleep());
  EXPECT_EQ(take(), 2U);
  EXPECT_TRUE(mailbox.try_sleep());
  EXPECT_EQ(mailbox.size(), 0U) << "unused places are collected";
}

TEST_F(HotMailboxTest, WakesItsConsumerAfterItHasTurnedCold) {
  take();
  ASSERT_TRUE(mailbox.try_sleep());
  EXPECT_EQ(push(1), PushResult::kWoke);
  EXPECT_EQ(waker.wakes, 1);
  EXPECT_EQ(take(), 1U);
}

TEST_F(HotMailboxTest, NeverHoldsMoreThanItsCapacity) {
  int pushed = 2;
  while (push(1) == PushResult::kOk) ++pushed;
  EXPECT_EQ(push(1), PushResult::kFull);
  EXPECT_LE(mailbox.size(), kCapacity);
  EXPECT_GE(static_cast<std::size_t>(pushed), kCapacity - kCapacity / 8) << "full too early";
  EXPECT_EQ(take(), static_cast<std::size_t>(pushed));
}

TEST_F(HotMailboxTest, HandsEverythingBackWhenItIsClosed) {
  push(100);
  EXPECT_EQ(mailbox.close([](Envelope<int>&&) noexcept {}), 102U);
  EXPECT_EQ(push(1), PushResult::kClosed);
  EXPECT_EQ(mailbox.size(), 0U);
}

TEST_F(HotMailboxTest, GivesThePlacesOfALaneThatIsGoneBack) {
  {
    Mailbox<int, WarmTraits>::Producer other(mailbox);
    mailbox.try_push(other, int{0}, TimePoint());
  }
  take();
  EXPECT_TRUE(mailbox.try_sleep());
  EXPECT_EQ(mailbox.size(), 0U);
}

/// Calls back from the middle of its push.
struct HookedMsg {
  std::function<void()>* hook = nullptr;

  explicit HookedMsg(std::function<void()>* call) : hook(call) {}
  HookedMsg(HookedMsg&& other) noexcept : hook(std::exchange(other.hook, nullptr)) {
    if (hook != nullptr) (*hook)();
  }
  HookedMsg& operator=(HookedMsg&&) noexcept = default;
};

TEST(HotMailbox, SleepsAfterAPushThatWasUnderWayWhenItFirstTried) {
  if (!has_heavy_fence()) GTEST_SKIP() << "this kernel has no membarrier(2): never hot";
  CountingWaker waker;
  Mailbox<HookedMsg, WarmTraits> mailbox(640, waker);
  Mailbox<HookedMsg, WarmTraits>::Producer lane(mailbox);
  std::vector<Envelope<HookedMsg>> batch;
  batch.reserve(100);
  for (int i = 0; i < 8; ++i) mailbox.try_push(lane, HookedMsg(nullptr), TimePoint());
  ASSERT_EQ(mailbox.take(batch, 100), 8U);

  int refusals = 0;
  std::function<void()> hook = [&] { refusals += mailbox.try_sleep() ? 0 : 1; };
  mailbox.try_push(lane, HookedMsg(&hook), TimePoint());
  EXPECT_GT(refusals, 0) << "it must not sleep over a push under way";
  hook = [] {};
  ASSERT_EQ(mailbox.take(batch, 100), 1U);
  EXPECT_FALSE(mailbox.has_work()) << "its actor would look for work for ever";
  EXPECT_TRUE(mailbox.try_sleep());
  EXPECT_EQ(mailbox.size(), 0U);
}

// The queue takes its memory through its traits, so a test can refuse it.
thread_local bool g_no_memory = false;
struct FailingTraits : MailboxTraits {
  static void* malloc(std::size_t size) { return g_no_memory ? nullptr : std::malloc(size); }
  static void free(void* memory) { std::free(memory); }
};

TEST_F(MailboxTest, CountsMissingMemoryAsFullLosesNothingAndStillWakesForOthers) {
  CountingWaker idle;
  Mailbox<std::variant<int, Text>, FailingTraits> mixed(100'000, idle);
  ASSERT_TRUE(mixed.try_sleep());
  g_no_memory = true;
  int pushed = 0;
  Text message = text("kept");
  while (taken(mixed.try_push(std::move(message), TimePoint()))) {
    message = text("kept");
    ASSERT_LT(++pushed, 200'000) << "memory never ran out";
  }
  g_no_memory = false;
  ASSERT_TRUE(message);
  EXPECT_EQ(*message, "kept");
  EXPECT_EQ(mixed.size(), static_cast<std::size_t>(pushed));
  EXPECT_GE(idle.wakes, 1);
}

}  // namespace
}  // namespace weft
