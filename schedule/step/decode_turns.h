#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/gpu/step_device.h"

namespace weft {

/// Divides the decoding sequences among the ticks that a device of S stages runs at once, so
/// that no stage waits for another. Any S consecutive ticks have all D sequences, and their
/// numbers of sequences differ by at most one. With fewer sequences than stages, a tick has
/// one.
///
/// Each tick takes as many sequences as its share, those whose last turn is longest ago. So turns
/// adapt when sequences come and go, and otherwise stay the same.
///
/// For each tick, call begin(), add() for each sequence, and share_out(); then take() says for each
/// sequence whether it has its turn. Owner only. Only the constructor allocates.
class DecodeTurns {
 public:
  explicit DecodeTurns(const DeviceLimits& limits);

  void begin(std::uint64_t tick);
  /// Adds a decoding sequence: its last tick, and whether it can be in this tick.
  void add(std::uint64_t last_tick, bool can);
  void share_out();
  /// Returns whether a sequence that can be in the tick has its turn. True as often as the tick's
  /// share.
  [[nodiscard]] bool take(std::uint64_t last_tick) noexcept;

  /// How many sequences were added, whatever their ticks; 0 with one stage, where sequences take no
  /// turns.
  [[nodiscard]] std::size_t decoding() const noexcept { return decoding_; }

 private:
  /// The number of sequences that a recent tick took.
  struct Share {
    std::uint64_t tick = 0;
    std::size_t taken = 0;
  };

  [[nodiscard]] std::size_t share_of_tick() const;
  [[nodiscard]] Share& share(std::uint64_t tick) { return shares_[tick % shares_.size()]; }

  std::vector<Share> shares_;           // the last S ticks' shares, by number modulo S
  std::vector<std::uint64_t> waiting_;  // last ticks of sequences that can be in this tick
  std::uint64_t tick_ = 0;
  std::size_t decoding_ = 0;
  // Sequences with an earlier last tick have their turn, and so many with this very last tick.
  std::uint64_t newest_ = 0;
  std::size_t of_newest_ = 0;
};

}  // namespace weft
