// An admission from the WaitQueue, against an admission from lists by client with a scan over all
// clients for the least served. `ratio` is our time over the scan's.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "weft/bench/ratio.h"
#include "weft/schedule/waiting/served_tokens.h"
#include "weft/schedule/waiting/wait_queue.h"

namespace weft {
namespace {

constexpr std::size_t kCandidates = 16;
constexpr int kAdmissions = 2000;
/// Running rows, each of which is charged between two admissions, as in a tick of a busy server.
constexpr std::size_t kRunning = 64;

/// The peer: counters by client in one array, and a queue for each client.
class Scan {
 public:
  explicit Scan(std::size_t clients) : counters_(clients), waiting_(clients) {}

  void push(std::size_t client, std::uint64_t order) { waiting_[client].push_back(order); }
  void charge(std::size_t client, double tokens) { counters_[client] += tokens; }

  /// Takes the next client, and looks at the first 16 candidates before.
  std::size_t take_first() {
    order_.clear();
    for (std::size_t client = 0; client < waiting_.size(); ++client) {
      if (!waiting_[client].empty()) order_.push_back(client);
    }
    const auto less = [this](std::size_t a, std::size_t b) { return counters_[a] < counters_[b]; };
    const std::size_t most = std::min(kCandidates, order_.size());
    std::ranges::partial_sort(order_, order_.begin() + static_cast<std::ptrdiff_t>(most), less);
    benchmark::DoNotOptimize(order_.data());
    waiting_[order_.front()].pop_front();
    return order_.front();
  }

 private:
  std::vector<double> counters_;
  std::vector<std::deque<std::uint64_t>> waiting_;
  std::vector<std::size_t> order_;
};

class Queue {
 public:
  Queue(std::size_t waiting, std::size_t clients) : queue_(clients), items_(waiting) {
    for (std::size_t i = 0; i < waiting; ++i) push(items_[i], i % clients, i);
  }

  void charge(std::size_t client, std::int64_t tokens) {
    served_.charge_output(ClientId(client), tokens);
  }
  WaitItem& take_first() {
    std::array<WaitItem*, kCandidates> out{};
    benchmark::DoNotOptimize(queue_.candidates(RequestClass::kChat, served_, out, 1));
    queue_.remove(*out.front());
    served_.leave(out.front()->client);
    return *out.front();
  }
  void push(WaitItem& item, std::size_t client, std::uint64_t order) {
    item.client = ClientId(client);
    item.order = order;
    served_.arrive(item.client);
    queue_.push(item);
  }

 private:
  WaitQueue queue_;
  ServedTokens served_;
  std::vector<WaitItem> items_;
};

double admit_from_queue(Queue& queue, std::size_t clients, std::uint64_t& order) {
  std::mt19937 random(3);
  return bench::seconds([&] {
    for (int i = 0; i < kAdmissions; ++i) {
      for (std::size_t row = 0; row < kRunning; ++row) queue.charge(random() % clients, 1);
      WaitItem& item = queue.take_first();
      queue.charge(item.client.value(), 50);
      queue.push(item, item.client.value(), ++order);
    }
  });
}

double admit_from_scan(Scan& scan, std::size_t clients, std::uint64_t& order) {
  std::mt19937 random(3);
  return bench::seconds([&] {
    for (int i = 0; i < kAdmissions; ++i) {
      for (std::size_t row = 0; row < kRunning; ++row) scan.charge(random() % clients, 2);
      const std::size_t client = scan.take_first();
      scan.charge(client, 100);
      scan.push(client, ++order);
    }
  });
}

/// Arguments: how many wait, of how many clients. An operation: 64 charges of one token, a look at
/// 16 candidates, the first of which is removed, charged and replaced by one of its client's.
void admit(benchmark::State& state) {
  const auto waiting = static_cast<std::size_t>(state.range(0));
  const auto clients = static_cast<std::size_t>(state.range(1));
  Queue queue(waiting, clients);
  Scan scan(clients);
  for (std::size_t i = 0; i < waiting; ++i) scan.push(i % clients, i);
  std::uint64_t order = waiting;
  bench::compare(
      state, kAdmissions, [&] { return admit_from_queue(queue, clients, order); },
      [&] { return admit_from_scan(scan, clients, order); });
}

/// Measures the nanoseconds of looking at 16 candidates, if no client was charged since the last
/// look.
void look(benchmark::State& state) {
  const auto clients = static_cast<std::size_t>(state.range(1));
  WaitQueue queue(clients);
  ServedTokens served;
  std::vector<WaitItem> items(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].client = ClientId(i % clients);
    items[i].order = i;
    served.arrive(items[i].client);
    queue.push(items[i]);
  }
  std::array<WaitItem*, kCandidates> out{};
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(queue.candidates(RequestClass::kChat, served, out, 1));
  }
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const auto& [waiting, clients] :
       {std::pair{100, 100}, std::pair{1000, 1000}, std::pair{10000, 1000}, std::pair{10000, 10000},
        std::pair{10000, 1}}) {
    bench->Args({waiting, clients});
  }
}

BENCHMARK(admit)->Apply(sizes)->Iterations(bench::kPairs)->UseManualTime();
BENCHMARK(look)->Apply(sizes);

}  // namespace
}  // namespace weft
