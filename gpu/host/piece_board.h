#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/core/mailbox/cache_line.h"

namespace weft {

/// Spins up to `spin` while `word` is `seen`; returns whether it has changed.
[[nodiscard]] bool spin_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                                      std::chrono::nanoseconds spin) noexcept;

/// The work of a run, for threads that do it together: ops one after the other, each cut into
/// pieces. A free thread takes the next piece of the open op. The thread that finishes an op's last
/// piece opens the next op. So no thread waits for a thread that has lost its processor, unless
/// that thread holds a piece; a barrier would wait for every thread. (Self-scheduling, Tang and
/// Yew, Processor self-scheduling for multiple-nested parallel loops, ICPP 1986.)
///
/// Data written by the pieces of one op is visible to the pieces of the next op. All of it is
/// visible to a thread that sees that the run is over.
class PieceBoard {
 public:
  struct Piece {
    std::int32_t op = 0;     ///< index of the op in the run
    std::int32_t index = 0;  ///< index of the piece in the op
    std::int32_t count = 1;  ///< number of the op's pieces
  };

  /// `spin` is how long a thread waits awake for the next op before it sleeps.
  explicit PieceBoard(std::chrono::nanoseconds spin) noexcept : spin_(spin) {}

  /// Begins a run of pieces.size() ops, op i cut into pieces[i] >= 1, and returns the run's number.
  /// Owner only, not while a run is under way; `pieces` must stay until the run is over.
  std::uint32_t start(std::span<const std::int32_t> pieces) noexcept;

  /// Takes a piece of the open op, and waits for the next op if no piece is left. Returns nothing
  /// once run `run` is over. Thread-safe.
  [[nodiscard]] std::optional<Piece> take(std::uint32_t run) noexcept;

  /// Reports that a taken piece is done. Thread-safe.
  void finish_piece() noexcept;

  /// Opens no further op in this run. Only for a thread that holds a piece; thread-safe.
  void break_off() noexcept { broken_.store(true, std::memory_order_relaxed); }

 private:
  void open_next() noexcept;
  void tell() noexcept;

  const std::chrono::nanoseconds spin_;
  // Written by the thread that opens an op, while no other thread has a piece.
  std::span<const std::int32_t> pieces_;
  std::size_t op_ = 0;
  std::int32_t count_ = 0;
  std::uint64_t first_ = 0;  // number of the op's first piece; numbers continue from run to run
  std::uint32_t run_ = 0;
  std::atomic<bool> broken_{false};

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> open_{0};  // pieces below may be taken
  std::atomic<std::uint32_t> over_{0};                           // the last run that has ended
  std::atomic<std::uint32_t> turn_{0};  // changes when one of the two above does
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next_{0};  // the next piece to be taken
  alignas(kCacheLineBytes) std::atomic<std::int32_t> left_{0};   // unfinished pieces of the op
};

}  // namespace weft
