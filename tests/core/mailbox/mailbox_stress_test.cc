// Ten million messages from eight producers through one mailbox, in several ways. Each message
// carries its producer and its number, so that a lost, doubled or overtaken one shows at once.
// Where the producers wait for room at nearly every message, sanitizers see a tenth of them:
// waiting is most of the time, and a switch between threads takes as long as hundreds of messages.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include "weft/core/mailbox/mailbox.h"
#include "weft/core/thread.h"

namespace weft {
namespace {

constexpr std::uint32_t kProducers = 8;
constexpr std::uint32_t kMessages = 10'000'000;
#if defined(WEFT_ABORT_ON_INTERNAL_ERROR)
constexpr std::uint32_t kCrowded = kMessages / 10;
#else
constexpr std::uint32_t kCrowded = kMessages;
#endif

struct NumberedMsg {
  std::uint32_t producer;
  std::uint32_t number;
};

struct NoWaker final : Waker {
  void wake() noexcept override {}
};

using NumberedMailbox = Mailbox<NumberedMsg>;

/// Pushes 0, 1, 2, ... until `limit` or closed; returns how many were taken.
std::uint32_t produce(NumberedMailbox& mailbox, std::uint32_t producer, std::uint32_t limit) {
  NumberedMailbox::Producer lane(mailbox);
  for (std::uint32_t number = 0; number < limit;) {
    switch (mailbox.try_push(lane, NumberedMsg{producer, number}, TimePoint())) {
      case PushResult::kOk:
      case PushResult::kWoke:
        ++number;
        break;
      case PushResult::kFull:
        std::this_thread::yield();
        break;
      case PushResult::kClosed:
        return number;
    }
  }
  return limit;
}

/// Takes all there is and checks that each producer's numbers come in order; returns how many came.
class Checker {
 public:
  std::uint32_t take_from(NumberedMailbox& mailbox) {
    batch_.clear();
    mailbox.take(batch_, batch_.capacity());
    for (const auto& envelope : batch_) see(envelope.message);
    return static_cast<std::uint32_t>(batch_.size());
  }
  void see(NumberedMsg message) {
    if (message.number != next_[message.producer]) ++disorder_;
    next_[message.producer] = message.number + 1;
  }
  [[nodiscard]] std::uint32_t next(std::uint32_t producer) const { return next_[producer]; }
  [[nodiscard]] std::uint32_t disorder() const { return disorder_; }
  Checker() { batch_.reserve(64); }

 private:
  std::vector<Envelope<NumberedMsg>> batch_;
  std::vector<std::uint32_t> next_ = std::vector<std::uint32_t>(kProducers);
  std::uint32_t disorder_ = 0;
};

void run_to_the_end(std::size_t capacity, std::uint32_t messages) {
  const std::uint32_t each = messages / kProducers;
  NoWaker waker;
  NumberedMailbox mailbox(capacity, waker);
  Checker checker;
  std::size_t deepest = 0;
  std::vector<std::jthread> producers;
  for (std::uint32_t producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&mailbox, producer, each] { produce(mailbox, producer, each); });
  }
  for (std::uint32_t seen = 0; seen < messages;) {
    deepest = std::max(deepest, mailbox.size());
    const std::uint32_t count = checker.take_from(mailbox);
    if (count == 0) std::this_thread::yield();
    seen += count;
  }
  producers.clear();
  EXPECT_EQ(checker.disorder(), 0U);
  for (std::uint32_t producer = 0; producer < kProducers; ++producer) {
    EXPECT_EQ(checker.next(producer), each);
  }
  EXPECT_EQ(mailbox.waiting(), 0U);
  EXPECT_LE(deepest, capacity);
}

TEST(MailboxStress, LosesAndDoublesNothingAndKeepsEachProducersOrder) {
  run_to_the_end(65'536, kMessages);
}

TEST(MailboxStress, DoesTheSameWhenItIsNearlyAlwaysFull) { run_to_the_end(16, kCrowded); }

// In each round the consumer closes at a random moment. The messages taken before and the messages
// that close() hands back must together be exactly the accepted ones.
TEST(MailboxStress, GivesEveryMessageExactlyOnceWhenClosingRacesThePushes) {
  constexpr std::uint32_t kRounds = 200;
  std::mt19937 random(20'240'607);
  std::uint64_t handed_back = 0;
  std::uint64_t total = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint64_t close_after = random() % (2 * kCrowded / kRounds);
    NoWaker waker;
    NumberedMailbox mailbox(1 + random() % 256, waker);
    Checker checker;
    std::vector<std::uint32_t> taken(kProducers);
    std::vector<std::jthread> producers;
    for (std::uint32_t producer = 0; producer < kProducers; ++producer) {
      producers.emplace_back([&mailbox, &taken, producer] {
        taken[producer] = produce(mailbox, producer, kMessages);
      });
    }
    std::uint32_t seen = 0;
    while (seen < close_after) {
      const std::uint32_t count = checker.take_from(mailbox);
      if (count == 0) std::this_thread::yield();
      seen += count;
    }
    handed_back += mailbox.close(
        [&](Envelope<NumberedMsg>&& envelope) noexcept { checker.see(envelope.message); });
    producers.clear();
    ASSERT_EQ(checker.disorder(), 0U) << "round " << round;
    for (std::uint32_t producer = 0; producer < kProducers; ++producer) {
      ASSERT_EQ(checker.next(producer), taken[producer]) << "round " << round;
      total += taken[producer];
    }
    ASSERT_EQ(mailbox.waiting(), 0U);
  }
  EXPECT_GT(handed_back, 0U);
  EXPECT_GT(total, kCrowded / 2);
}

/// Turns hot at once, so that a run goes back and forth between hot, cold and asleep very often.
struct WarmStressTraits : MailboxTraits {
  static constexpr std::size_t kHeatAfter = 4;
};

class ParkedConsumer final : public Waker {
 public:
  void wake() noexcept override { permits_.release(); }
  /// Returns false when nobody woke it for so long that a wake-up must be lost.
  bool sleep() { return permits_.try_acquire_for(std::chrono::seconds(20)); }

 private:
  std::counting_semaphore<> permits_{0};
};

// The producers push in bursts with rests between them, now and then until the consumer has slept,
// and the consumer sleeps whenever it may. A push that the consumer does not notice before it
// sleeps, and that does not wake it, ends this test.
TEST(MailboxStress, LosesNoWakeUpBetweenHotColdAndAsleep) {
  constexpr std::uint32_t kLanes = 3;
  constexpr std::uint32_t kPushes = 400'000;
  ParkedConsumer consumer;
  Mailbox<NumberedMsg, WarmStressTraits> mailbox(1024, consumer);
  std::atomic<std::uint32_t> sleeps = 0;
  std::atomic<bool> lost = false;
  std::vector<std::jthread> producers;
  for (std::uint32_t producer = 0; producer < kLanes; ++producer) {
    producers.emplace_back([&, producer] {
      Mailbox<NumberedMsg, WarmStressTraits>::Producer lane(mailbox);
      std::mt19937 random(producer);
      std::uint32_t seen_asleep = 0;
      for (std::uint32_t number = 0; number < kPushes;) {
        const std::uint32_t before = number;
        for (std::uint64_t burst = random() % 32; burst > 0 && number < kPushes; --burst) {
          const auto result = mailbox.try_push(lane, NumberedMsg{producer, number}, TimePoint());
          if (result == PushResult::kClosed) return;
          if (taken(result)) ++number;
        }
        for (std::uint64_t rest = random() % 64; rest > 0; --rest) pause_thread();
        // A push wakes the consumer, so it sleeps once more at the latest when all lanes rest here.
        if (number == before || number == kPushes || random() % 64 != 0) continue;
        while (sleeps == seen_asleep && !lost) std::this_thread::yield();
        seen_asleep = sleeps;
      }
    });
  }
  Checker checker;
  std::vector<Envelope<NumberedMsg>> batch;
  batch.reserve(16);
  for (std::uint32_t seen = 0; seen < kLanes * kPushes;) {
    batch.clear();
    seen += static_cast<std::uint32_t>(mailbox.take(batch, 16));
    for (const auto& envelope : batch) checker.see(envelope.message);
    if (!batch.empty() || !mailbox.try_sleep()) continue;
    ++sleeps;
    if (!consumer.sleep()) {
      lost = true;
      mailbox.close([](Envelope<NumberedMsg>&&) noexcept {});
      FAIL() << "a wake-up was lost after " << seen << " messages";
    }
  }
  EXPECT_EQ(checker.disorder(), 0U);
  EXPECT_GT(sleeps.load(), 100U) << "it hardly slept, so nothing was tried";
}

}  // namespace
}  // namespace weft
