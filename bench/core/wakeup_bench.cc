// How long a dedicated actor takes to notice a message, there and back, against two threads that do
// it with bare atomics on the same two processors: spinning on a flag, and sleeping in
// std::atomic::wait. `ratio` is the actor's round trip over the bare one's.

#include <benchmark/benchmark.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstdint>
#include <latch>
#include <thread>

#include "weft/bench/ratio.h"
#include "weft/core/actor/actor_system.h"
#include "weft/core/thread.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr int kTrips = 2000;
constexpr int kNearCpu = 0;
constexpr int kFarCpu = 1;
// Long enough for the other side to fall asleep before it is pinged; it is not part of the time.
constexpr auto kRest = 50us;

void pin_to(int cpu) {
  if (const auto error = pin_this_thread(cpu)) throw boost::system::system_error(error);
}

void spin_until(const std::atomic<std::uint32_t>& flag, std::uint32_t value) {
  while (flag.load(std::memory_order_acquire) != value) pause_thread();
}

void rest(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) pause_thread();
}

/// Returns the sum of the round trips: `ping(n)` sends, and then `pong` becomes n.
template <class Ping>
double drive_pauses(std::chrono::microseconds pause, const std::atomic<std::uint32_t>& pong,
                    Ping&& ping) {
  pin_to(kNearCpu);
  double total = 0;
  for (std::uint32_t trip = 1; trip <= kTrips; ++trip) {
    rest(pause);
    total += bench::seconds([&] {
      ping(trip);
      spin_until(pong, trip);
    });
  }
  return total;
}

struct PingMsg {
  std::uint32_t number;
};

class Ponger {
 public:
  using Accepts = Protocol<PingMsg>;
  Ponger(ActorContext& /*context*/, std::atomic<std::uint32_t>* pong) : pong_(pong) {}
  void on(PingMsg&& message) { pong_->store(message.number, std::memory_order_release); }
  void undelivered(PingMsg&& /*message*/, const Error& /*why*/) {}

 private:
  std::atomic<std::uint32_t>* pong_;
};

double actor_round_trips(Duration spin, std::chrono::microseconds pause) {
  boost::asio::io_context context;
  alignas(64) std::atomic<std::uint32_t> pong{0};
  ActorSystem system(context.get_executor());
  const auto ponger = system.spawn<Ponger>(
      {.name = "ponger", .thread = DedicatedThread{.spin = spin, .cpu = kFarCpu}}, &pong);
  auto sender = ponger.sender(ActorId(99));
  return drive_pauses(pause, pong, [&](std::uint32_t trip) { sender.try_send(PingMsg{trip}); });
}

/// Times two bare threads; `notice` returns when `ping` has the value it is given.
template <class Notice, class Notify>
double bare_round_trips(std::chrono::microseconds pause, Notice notice, Notify notify) {
  alignas(64) std::atomic<std::uint32_t> ping{0};
  alignas(64) std::atomic<std::uint32_t> pong{0};
  std::latch ready(1);
  std::jthread far([&] {
    pin_to(kFarCpu);
    ready.count_down();
    for (std::uint32_t trip = 1; trip <= kTrips; ++trip) {
      notice(ping, trip);
      pong.store(trip, std::memory_order_release);
    }
  });
  ready.wait();  // it inherits this thread's processor, and must have left it
  return drive_pauses(pause, pong, [&](std::uint32_t trip) {
    ping.store(trip, std::memory_order_release);
    notify(ping);
  });
}

void spinning_actor_against_spinning_thread(benchmark::State& state) {
  bench::compare(
      state, kTrips, [] { return actor_round_trips(1s, 1us); },
      [] { return bare_round_trips(1us, spin_until, [](auto&) {}); });
}

void wait_until(std::atomic<std::uint32_t>& flag, std::uint32_t value) {
  for (auto seen = flag.load(std::memory_order_acquire); seen != value;
       seen = flag.load(std::memory_order_acquire)) {
    flag.wait(seen, std::memory_order_acquire);
  }
}

void parked_actor_against_waiting_thread(benchmark::State& state) {
  bench::compare(
      state, kTrips, [] { return actor_round_trips(0s, kRest); },
      [] { return bare_round_trips(kRest, wait_until, [](auto& flag) { flag.notify_one(); }); });
}

BENCHMARK(spinning_actor_against_spinning_thread)
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(parked_actor_against_waiting_thread)
    ->Iterations(bench::kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft
