// One hop to an event-driven actor against one asio::post of the same work, under load: a sender
// that does not wait for answers, the io_context run by one thread. `ratio` is the hop's time over
// the post's.

#include <benchmark/benchmark.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <memory>
#include <thread>

#include "weft/bench/ratio.h"
#include "weft/core/actor/actor_system.h"

namespace weft {
namespace {

constexpr std::int64_t kHops = 500'000;
constexpr std::int64_t kWindow = 2048;  // the most work on the way, because a server's queue is
                                        // bounded, too

/// The work of a hop, as little as a detokenizer does for one token.
struct Work {
  std::atomic<std::int64_t> done{0};
  std::uint64_t sum = 0;

  void operator()(std::uint64_t number) {
    sum += number * 2654435761U;
    done.store(done.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

struct NumberMsg {
  std::uint64_t number;
};

class Adder {
 public:
  using Accepts = Protocol<NumberMsg>;
  Adder(ActorContext& /*context*/, Work* work) : work_(work) {}
  void on(NumberMsg&& message) { (*work_)(message.number); }
  void undelivered(NumberMsg&& /*message*/, const Error& /*why*/) {}

 private:
  Work* work_;
};

/// Returns the seconds until `send` was called kHops times and the work is done.
template <class Send>
double drive_hops(Work& work, Send&& send) {
  return bench::seconds([&] {
    std::int64_t limit =
        kWindow;  // checked only when it is reached, because a sender does not watch its receiver
    for (std::int64_t sent = 0; sent < kHops;) {
      if (sent == limit) {
        limit = work.done.load(std::memory_order_relaxed) + kWindow;
        if (sent == limit) std::this_thread::yield();
        continue;
      }
      send(static_cast<std::uint64_t>(sent));
      ++sent;
    }
    while (work.done.load(std::memory_order_relaxed) < kHops) std::this_thread::yield();
  });
}

double run_hops() {
  boost::asio::io_context context;
  auto guard = boost::asio::make_work_guard(context);
  Work work;
  double took = 0;
  {
    ActorSystem system(context.get_executor());
    const auto adder = system.spawn<Adder>({.name = "adder"}, &work);
    std::jthread runner([&] { context.run(); });
    auto sender = adder.sender(ActorId(99));
    took = drive_hops(work, [&](std::uint64_t number) { sender.try_send(NumberMsg{number}); });
    guard.reset();
    system.request_stop();
  }
  benchmark::DoNotOptimize(work.sum);
  return took;
}

double run_posts() {
  boost::asio::io_context context;
  auto guard = boost::asio::make_work_guard(context);
  Work work;
  double took = 0;
  {
    std::jthread runner([&] { context.run(); });
    took = drive_hops(work, [&](std::uint64_t number) {
      boost::asio::post(context, [&work, number] { work(number); });
    });
    guard.reset();
  }
  benchmark::DoNotOptimize(work.sum);
  return took;
}

void hop_against_post_from_another_thread(benchmark::State& state) {
  bench::compare(state, static_cast<double>(kHops), run_hops, run_posts);
}

/// Both sides run on one thread, so the result is the processor time of a hop.
double run_hops_on_one_thread() {
  boost::asio::io_context context(1);
  Work work;
  ActorSystem system(context.get_executor());
  const auto adder = system.spawn<Adder>({.name = "adder"}, &work);
  auto sender = adder.sender(ActorId(99));
  return bench::seconds([&] {
    for (std::int64_t sent = 0; sent < kHops;) {
      for (const std::int64_t end = sent + kWindow; sent < end; ++sent) {
        sender.try_send(NumberMsg{static_cast<std::uint64_t>(sent)});
      }
      context.poll();
    }
  });
}

double run_posts_on_one_thread() {
  boost::asio::io_context context(1);
  Work work;
  return bench::seconds([&] {
    for (std::int64_t sent = 0; sent < kHops;) {
      for (const std::int64_t end = sent + kWindow; sent < end; ++sent) {
        boost::asio::post(context, [&work, sent] { work(static_cast<std::uint64_t>(sent)); });
      }
      context.restart();
      context.poll();
    }
  });
}

void hop_against_post_on_one_thread(benchmark::State& state) {
  bench::compare(state, static_cast<double>(kHops), run_hops_on_one_thread,
                 run_posts_on_one_thread);
}

BENCHMARK(hop_against_post_from_another_thread)
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(hop_against_post_on_one_thread)
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft
