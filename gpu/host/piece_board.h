#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/core/mailbox/cache_line.h"

namespace weft {

/// Looks for up to `spin` whether `word` is no longer `seen`; says whether it is not.
[[nodiscard]] bool spin_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                                      std::chrono::nanoseconds spin) noexcept;

/// The work of a run, for threads that do it together: ops one after the other, each cut into
/// pieces. Whoever is free takes the next piece of the open op, and whoever finishes an op's last
/// piece opens the next. So nobody waits for a thread that has lost its processor, unless that
/// holds a piece; a barrier would wait for every thread. (Self-scheduling, Tang and Yew, Processor
/// self-scheduling for multiple-nested parallel loops, ICPP 1986.)
///
/// What was written by the pieces of one op is visible to those of the next, and all of it to
/// whoever learns that the run is over.
class PieceBoard {
 public:
  struct Piece {
    std::int32_t op = 0;     ///< which op of the run
    std::int32_t index = 0;  ///< which of its pieces
    std::int32_t count = 1;  ///< how many it has
  };

  /// `spin` is how long a thread waits awake for the next op before it sleeps.
  explicit PieceBoard(std::chrono::nanoseconds spin) noexcept : spin_(spin) {}

  /// Begins a run of pieces.size() ops, op i cut into pieces[i] >= 1, and returns the run's number.
  /// Owner only, not while a run is under way; `pieces` must stay until the run is over.
  std::uint32_t start(std::span<const std::int32_t> pieces) noexcept;

  /// Takes a piece of the open op; waits for the next op while there is none left. Returns nothing
  /// once run `run` is over. Thread-safe.
  [[nodiscard]] std::optional<Piece> take(std::uint32_t run) noexcept;

  /// Says that a piece that was taken is done. Thread-safe.
  void finish_piece() noexcept;

  /// Opens no further op in this run. Only for a thread that holds a piece; thread-safe.
  void break_off() noexcept { broken_.store(true, std::memory_order_relaxed); }

 private:
  void open_next() noexcept;
  void tell() noexcept;

  const std::chrono::nanoseconds spin_;
  // Written by who opens an op, while nobody else has a piece.
  std::span<const std::int32_t> pieces_;
  std::size_t op_ = 0;
  std::int32_t count_ = 0;
  std::uint64_t first_ = 0;  // the number of the op's first piece; numbers go on from run to run
  std::uint32_t run_ = 0;
  std::atomic<bool> broken_{false};

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> open_{0};  // pieces below may be taken
  std::atomic<std::uint32_t> over_{0};                           // the last run that has ended
  std::atomic<std::uint32_t> turn_{0};                           // changes when those two do
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next_{0};  // the next piece to be taken
  alignas(kCacheLineBytes) std::atomic<std::int32_t> left_{0};   // pieces of the op not done
};

}  // namespace weft
