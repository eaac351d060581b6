#include "weft/gpu/host/host_bandwidth.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace weft {
namespace {

// Several times the largest cache of a server processor, and small beside the memory of a host that
// serves models.
constexpr std::size_t kBytes = std::size_t{1} << 30;
// The first pass maps the pages. The best of the others is the machine's own speed, because noise
// only slows a pass.
constexpr int kPasses = 6;

std::uint64_t read_all(std::span<const std::uint64_t> words) {
  std::uint64_t sum = 0;
  for (const std::uint64_t word : words) sum += word;
  return sum;
}

}  // namespace

double host_read_bandwidth(int threads) {
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  const std::vector<std::uint64_t> memory(kBytes / sizeof(std::uint64_t), 1);
  const std::size_t share = memory.size() / count;
  std::atomic<std::uint64_t> sink{0};
  std::barrier sync(static_cast<std::ptrdiff_t>(count) + 1);
  std::vector<std::jthread> readers;
  for (std::size_t reader = 0; reader < count; ++reader) {
    readers.emplace_back([&, reader] {
      const auto own = std::span(memory).subspan(reader * share, share);
      for (int pass = 0; pass < kPasses; ++pass) {
        sync.arrive_and_wait();
        sink.fetch_add(read_all(own), std::memory_order_relaxed);
        sync.arrive_and_wait();
      }
    });
  }
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    sync.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    sync.arrive_and_wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best =
        std::max(best, static_cast<double>(share * count * sizeof(std::uint64_t)) / took.count());
  }
  return best;
}

}  // namespace weft
