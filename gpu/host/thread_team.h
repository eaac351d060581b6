#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/mailbox/cache_line.h"
#include "weft/gpu/host/piece_board.h"
#include "weft/kernels/share.h"

namespace weft {

/// Threads that run ops together. Each op is cut into pieces, and a free member takes the next
/// piece (PieceBoard). The thread that calls run() is member 0. The other members are the team's
/// own threads; they sleep between runs, and the next run wakes them.
///
/// A member that waits, for the next op or the next run, first spins for defaults::kSpinBeforePark
/// and then sleeps, so an idle team costs nothing. If there are more members than processors, it
/// sleeps at once.
class ThreadTeam {
 public:
  struct Options {
    /// Members, the caller included; 0: host_parallelism().
    int threads = 0;
    /// Pins each of the team's own threads to one processor: member i to the i-th of
    /// host_processors(). The first processor is left to the caller, whose thread is not pinned.
    bool pin = false;
  };

  /// Throws std::system_error if the system refuses a thread or a processor to pin to.
  explicit ThreadTeam(Options options);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  /// Must not run at the same time as run().
  ~ThreadTeam();

  [[nodiscard]] int size() const noexcept { return size_; }

  /// Calls work(op, Share{i, pieces[op], member}) once for each op in [0, pieces.size()) and each i
  /// in [0, pieces[op]), on up to `members` of the team. `pieces` are at least 1 each. All pieces
  /// of an op return before a piece of the next op begins. All pieces see the caller's earlier
  /// writes; the next op and the caller see the pieces' writes. One run at a time. If a piece
  /// throws, no further op begins, and run() throws the first exception; the team can be used
  /// again.
  template <class Work>
  void run(std::span<const std::int32_t> pieces, Work&& work, int members) {
    using Plain = std::remove_reference_t<Work>;
    run_erased({.object = const_cast<void*>(static_cast<const void*>(std::addressof(work))),
                .call = [](void* object, std::int32_t op,
                           Share share) { (*static_cast<Plain*>(object))(op, share); }},
               pieces, members);
  }

  /// As run(), for one op: calls work(Share) for each of `count` pieces.
  template <class Work>
  void run_pieces(std::int32_t count, Work&& work) {
    run(std::span(&count, 1), [&](std::int32_t /*op*/, Share share) { work(share); }, size_);
  }

  /// As above, with one piece for each member; one member may run several.
  template <class Work>
  void run(Work&& work) {
    run_pieces(size_, work);
  }

  /// As run(), for work that returns Result<void>. Returns the error of one of the pieces that
  /// failed.
  template <class Work>
  [[nodiscard]] Result<void> try_run(Work&& work) {
    std::vector<Result<void>> results(static_cast<std::size_t>(size_));
    run([&](Share share) { results[static_cast<std::size_t>(share.index)] = work(share); });
    for (Result<void>& result : results) {
      if (!result) return std::move(result);
    }
    return {};
  }

  /// Returns how many of the team's own threads sleep between runs, or are about to. Thread-safe;
  /// for tests.
  [[nodiscard]] int sleepers() const noexcept { return sleepers_.load(std::memory_order_relaxed); }

 private:
  struct Task {
    void* object = nullptr;
    void (*call)(void* object, std::int32_t op, Share share) = nullptr;
  };

  void run_erased(Task task, std::span<const std::int32_t> pieces, int members);
  void run_alone(std::span<const std::int32_t> pieces) const;
  void start_threads(bool pin);
  void stop_threads() noexcept;
  void serve(int member);
  [[nodiscard]] bool take_seat(std::uint32_t run) noexcept;
  void work_on(std::uint32_t run, int member) noexcept;
  void keep_failure(std::exception_ptr failure) noexcept;

  const int size_;
  const std::chrono::nanoseconds spin_;
  PieceBoard board_;
  Task task_;
  std::atomic<bool> stopping_{false};  ///< also read by members that are late for a run
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::atomic<int> sleepers_{0};
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> run_{0};  ///< a new number starts a run
  /// The run's number in the upper half, and in the lower half how many own threads may still join
  /// it.
  std::atomic<std::uint64_t> seats_{0};
  std::vector<std::thread> threads_;
};

}  // namespace weft
