#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/mailbox/cache_line.h"
#include "weft/gpu/host/team_barrier.h"
#include "weft/kernels/share.h"

namespace weft {

/// Threads that do ops together: each runs the same work with its own Share, and meets the others
/// between ops. The thread that calls run() is member 0; the others are the team's own, sleep
/// between runs and are woken by the next one.
///
/// A member waits awake for defaults::kSpinBeforePark, at a sync as between runs, and then sleeps,
/// so an idle team costs nothing. Where there are more members than processors it sleeps at once.
class ThreadTeam {
 public:
  struct Options {
    /// Members, the caller included; 0: as many as host_parallelism().
    int threads = 0;
    /// Each of the team's own threads stays on one processor, the i-th of host_processors() for
    /// member i. The first is left to the caller, whose thread is not touched.
    bool pin = false;
  };

  /// Throws std::system_error when the system gives no thread, or no processor to pin to.
  explicit ThreadTeam(Options options);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  /// Not while run() is.
  ~ThreadTeam();

  [[nodiscard]] int size() const noexcept { return size_; }

  /// Calls work(Share{i, size()}) in every member i and returns when all have returned. What the
  /// caller wrote before, the members see; what they wrote, the caller sees after. One run at a
  /// time. When members throw, the others are thrown out of their next sync(), and the exception
  /// that came first is thrown here once all are out; the team can be used again.
  template <class Work>
  void run(Work&& work) {
    using Plain = std::remove_reference_t<Work>;
    run_erased({.object = const_cast<void*>(static_cast<const void*>(std::addressof(work))),
                .call = [](void* object, Share share) { (*static_cast<Plain*>(object))(share); }});
  }

  /// As run(), of work that returns a Result<void>: the error of one of the members that have one.
  template <class Work>
  [[nodiscard]] Result<void> try_run(Work&& work) {
    std::vector<Result<void>> results(static_cast<std::size_t>(size_));
    run([&](Share share) { results[static_cast<std::size_t>(share.index)] = work(share); });
    for (Result<void>& result : results) {
      if (!result) return std::move(result);
    }
    return {};
  }

  /// Called by every member from within its work, equally often: returns when all have come.
  void sync() { barrier_.arrive_and_wait(); }

  /// How many of the team's own threads sleep now, or are about to. Thread-safe; of use to tests.
  [[nodiscard]] int sleepers() const noexcept { return sleepers_.load(std::memory_order_relaxed); }

 private:
  struct Task {
    void* object = nullptr;
    void (*call)(void* object, Share share) = nullptr;
  };

  void run_erased(Task task);
  void start_threads(bool pin);
  void stop_threads() noexcept;
  void serve(int index);
  void do_part(int index) noexcept;
  void keep_failure(std::exception_ptr failure) noexcept;

  const int size_;
  const std::chrono::nanoseconds spin_;
  TeamBarrier barrier_;
  Task task_;
  bool stopping_ = false;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::atomic<int> sleepers_{0};
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> run_{0};  ///< a new number starts a run
  alignas(kCacheLineBytes) std::atomic<int> working_{0};  ///< own threads that have not returned
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> returned_{0};  ///< changes when all have
  std::vector<std::thread> threads_;
};

}  // namespace weft
