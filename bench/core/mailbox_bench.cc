// A mailbox against the bare concurrentqueue that is inside it, used in the same way: a token for
// each producer, one consumer that takes batches of 64, the same envelope, at most a window of
// messages on the way so that both work in warm memory. `ratio` is the mailbox's time over the
// queue's; the throughput of the mailbox relative to the queue is its inverse.

#include <benchmark/benchmark.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <thread>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/core/mailbox/concurrent_queue.h"
#include "weft/core/mailbox/mailbox.h"

namespace weft {
namespace {

constexpr std::int64_t kMessages = 2'000'000;
constexpr std::int64_t kMailboxWindow = 4096;
constexpr std::size_t kBatch = 64;

struct WorkMsg {
  std::uint64_t number;
  void* owner;
};

struct NoWaker final : Waker {
  void wake() noexcept override {}
};

struct BareQueue {
  moodycamel::ConcurrentQueue<Envelope<WorkMsg>> queue{kMailboxWindow};
  moodycamel::ConsumerToken consumer{queue};

  struct Lane {
    explicit Lane(BareQueue& bare) : token(bare.queue) {}
    moodycamel::ProducerToken token;
  };
  bool push(Lane& lane, WorkMsg message, TimePoint now) {
    return queue.enqueue(
        lane.token, Envelope<WorkMsg>{.message = message, .enqueued = now, .from = ActorId(1)});
  }
  std::size_t take(std::vector<Envelope<WorkMsg>>& out) {
    return queue.try_dequeue_bulk(consumer, std::back_inserter(out), kBatch);
  }
};

struct Boxed {
  NoWaker waker;
  Mailbox<WorkMsg> mailbox{2 * kMailboxWindow, waker};

  struct Lane {
    explicit Lane(Boxed& boxed) : producer(boxed.mailbox) {}
    Mailbox<WorkMsg>::Producer producer;
  };
  bool push(Lane& lane, WorkMsg message, TimePoint now) {
    return taken(mailbox.try_push(lane.producer, WorkMsg(message), now, ActorId(1)));
  }
  std::size_t take(std::vector<Envelope<WorkMsg>>& out) { return mailbox.take(out, kBatch); }
};

/// Returns the seconds for kMessages through a Queue. With `stamp` each push reads the clock, as an
/// actor's push does.
template <class Queue>
double run(std::int64_t producers, bool stamp) {
  Queue queue;
  std::atomic<std::int64_t> consumed{0};
  std::barrier start(producers + 1);
  std::vector<std::jthread> threads;
  for (std::int64_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&] {
      typename Queue::Lane lane(queue);
      start.arrive_and_wait();
      std::int64_t limit = kMailboxWindow / producers;  // checked only when it is reached
      for (std::int64_t sent = 0; sent < kMessages / producers;) {
        if (sent >= limit) {
          limit = (consumed.load(std::memory_order_relaxed) + kMailboxWindow) / producers;
          if (sent >= limit) std::this_thread::yield();
          continue;
        }
        const TimePoint now = stamp ? std::chrono::steady_clock::now() : TimePoint();
        sent += queue.push(lane, WorkMsg{static_cast<std::uint64_t>(sent), &queue}, now) ? 1 : 0;
      }
    });
  }
  std::vector<Envelope<WorkMsg>> batch;
  batch.reserve(kBatch);
  start.arrive_and_wait();
  return bench::seconds([&] {
    for (std::int64_t seen = 0; seen < kMessages / producers * producers;) {
      batch.clear();
      const std::size_t count = queue.take(batch);
      if (count == 0) {
        std::this_thread::yield();
        continue;
      }
      benchmark::DoNotOptimize(batch.data());
      seen += static_cast<std::int64_t>(count);
      consumed.store(seen, std::memory_order_relaxed);
    }
  });
}

void mailbox_against_bare_queue(benchmark::State& state) {
  const std::int64_t producers = state.range(0);
  const bool stamp = state.range(1) != 0;
  bench::compare(
      state, static_cast<double>(kMessages), [&] { return run<Boxed>(producers, stamp); },
      [&] { return run<BareQueue>(producers, stamp); });
}

BENCHMARK(mailbox_against_bare_queue)
    ->ArgsProduct({{1, 2, 8}, {0, 1}})
    ->ArgNames({"producers", "stamped"})
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft
