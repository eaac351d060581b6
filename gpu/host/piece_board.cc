#include "weft/gpu/host/piece_board.h"

#include "weft/core/thread.h"

namespace weft {

bool spin_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                        std::chrono::nanoseconds spin) noexcept {
  constexpr int kLooksBetweenClocks = 32;  // reading the clock costs as much as several of these
  const auto until = std::chrono::steady_clock::now() + spin;
  do {
    for (int look = 0; look < kLooksBetweenClocks; ++look) {
      if (word.load(std::memory_order_acquire) != seen) return true;
      pause_thread();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

std::uint32_t PieceBoard::start(std::span<const std::int32_t> pieces) noexcept {
  pieces_ = pieces;
  broken_.store(false, std::memory_order_relaxed);
  op_ = 0;
  const std::uint32_t run = ++run_;
  open_next();
  return run;
}

std::optional<PieceBoard::Piece> PieceBoard::take(std::uint32_t run) noexcept {
  for (;;) {
    // The turn is read first: a change after that ends the wait below.
    const std::uint32_t turn = turn_.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(over_.load(std::memory_order_acquire) - run) >= 0) return {};
    std::uint64_t piece = next_.load(std::memory_order_relaxed);
    while (piece < open_.load(std::memory_order_acquire)) {
      // A thread that takes a piece keeps its op open, so op_, first_ and count_ are valid.
      if (next_.compare_exchange_weak(piece, piece + 1, std::memory_order_acq_rel)) {
        return Piece{static_cast<std::int32_t>(op_), static_cast<std::int32_t>(piece - first_),
                     count_};
      }
    }
    if (!spin_until_changed(turn_, turn, spin_)) turn_.wait(turn, std::memory_order_acquire);
  }
}

void PieceBoard::finish_piece() noexcept {
  if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  ++op_;
  open_next();
}

void PieceBoard::open_next() noexcept {
  if (op_ == pieces_.size() || broken_.load(std::memory_order_relaxed)) {
    over_.store(run_, std::memory_order_release);
    return tell();
  }
  count_ = pieces_[op_];
  first_ = open_.load(std::memory_order_relaxed);
  left_.store(count_, std::memory_order_relaxed);
  // The opening thread takes the one piece itself; the others stay asleep.
  const bool alone = count_ == 1;
  open_.store(first_ + static_cast<std::uint64_t>(count_), std::memory_order_release);
  if (!alone) tell();
}

void PieceBoard::tell() noexcept {
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
}

}  // namespace weft
