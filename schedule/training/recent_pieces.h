#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/core/time/clock.h"

namespace weft {

/// The measured times of training's pieces, each with the step of the batch beside which it ran.
/// Allocates nothing. Owner only.
class RecentPieces {
 public:
  /// The steps for which a long piece is expected to come again. One step in so many may be longer
  /// than planned, which is less than one in 100: the 99th percentile of the steps holds, whatever
  /// lengths pieces have.
  static constexpr std::uint64_t kSteps = 128;

  void add(Duration time, std::uint64_t step) noexcept {
    pieces_[next_] = {time, step};
    next_ = (next_ + 1) % kCount;
    size_ = std::min(size_ + 1, kCount);
    if (!longest_ || time >= longest_->time) longest_ = {time, step};
  }
  void clear() noexcept {
    next_ = size_ = 0;
    longest_.reset();
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Returns the longest of the pieces that ran less than kSteps before `step`; none: no piece did.
  [[nodiscard]] std::optional<Duration> longest_at(std::uint64_t step) noexcept {
    const auto counts = [&](const Piece& piece) { return step - piece.step < kSteps; };
    if (longest_ && !counts(*longest_)) longest_.reset();
    if (longest_) return longest_->time;
    for (std::size_t i = 0; i < size_ && counts(newest(i)); ++i) {
      if (!longest_ || newest(i).time > longest_->time) longest_ = newest(i);
    }
    return longest_ ? std::optional(longest_->time) : std::nullopt;
  }
  /// Returns the mean of the newest pieces; zero without pieces.
  [[nodiscard]] Duration mean() const noexcept {
    const std::size_t count = std::min(size_, kMean);
    Duration sum{};
    for (std::size_t i = 0; i < count; ++i) sum += newest(i).time;
    return count == 0 ? sum : sum / static_cast<Duration::rep>(count);
  }

 private:
  struct Piece {
    Duration time{};
    std::uint64_t step = 0;
  };
  // A step has one plan, and a plan one entry.
  static constexpr std::size_t kCount = kSteps;
  // So few that the mean follows changes of the data's lengths.
  static constexpr std::size_t kMean = 16;

  [[nodiscard]] const Piece& newest(std::size_t behind) const noexcept {
    return pieces_[(next_ + kCount - 1 - behind) % kCount];
  }

  std::array<Piece, kCount> pieces_{};
  std::size_t next_ = 0;
  std::size_t size_ = 0;
  std::optional<Piece> longest_{};  // of the pieces that counted at the newest look
};

}  // namespace weft
