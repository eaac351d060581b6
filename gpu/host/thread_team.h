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

/// Threads that do ops together: each op is cut into pieces, and a member that is free takes the
/// next one (PieceBoard). The thread that calls run() is member 0; the others are the team's own,
/// sleep between runs and are woken by the next one.
///
/// A member waits awake for defaults::kSpinBeforePark, for the next op as between runs, and then
/// sleeps, so an idle team costs nothing. Where there are more members than processors it sleeps at
/// once.
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

  /// Calls work(op, Share{i, pieces[op], member}) once for each op in [0, pieces.size()) and each i
  /// in [0, pieces[op]), on up to `members` of the team. All pieces of an op return before one of
  /// the next is begun. What the caller wrote before, all see; what was written, the next op and
  /// the caller see after. `pieces` are at least 1 each. One run at a time. When a piece throws, no
  /// further op is begun and the exception that came first is thrown here; the team can be used
  /// again.
  template <class Work>
  void run(std::span<const std::int32_t> pieces, Work&& work, int members) {
    using Plain = std::remove_reference_t<Work>;
    run_erased({.object = const_cast<void*>(static_cast<const void*>(std::addressof(work))),
                .call = [](void* object, std::int32_t op,
                           Share share) { (*static_cast<Plain*>(object))(op, share); }},
               pieces, members);
  }

  /// The same of one op: calls work(Share) for each of `count` pieces.
  template <class Work>
  void run_pieces(std::int32_t count, Work&& work) {
    run(std::span(&count, 1), [&](std::int32_t /*op*/, Share share) { work(share); }, size_);
  }

  /// The same with a piece for each member, though one member may do several.
  template <class Work>
  void run(Work&& work) {
    run_pieces(size_, work);
  }

  /// As run(), of work that returns a Result<void>: the error of one of the pieces that have one.
  template <class Work>
  [[nodiscard]] Result<void> try_run(Work&& work) {
    std::vector<Result<void>> results(static_cast<std::size_t>(size_));
    run([&](Share share) { results[static_cast<std::size_t>(share.index)] = work(share); });
    for (Result<void>& result : results) {
      if (!result) return std::move(result);
    }
    return {};
  }

  /// How many of the team's own threads sleep between runs, or are about to. Thread-safe; of use to
  /// tests.
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
  std::atomic<bool> stopping_{false};  ///< read by members that are late for a run, too
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::atomic<int> sleepers_{0};
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> run_{0};  ///< a new number starts a run
  /// Below the run's number how many own threads may still join it.
  std::atomic<std::uint64_t> seats_{0};
  std::vector<std::thread> threads_;
};

}  // namespace weft
