#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/gpu/step_device.h"

namespace weft {

/// Shares out the sequences that decode among the ticks that a device of S stages runs at once, so
/// that no stage waits for another: any S ticks one after the other have D sequences, and of these
/// ticks each has as many as any other, or one more. With fewer sequences than stages a tick has
/// one.
///
/// It keeps to that by itself when sequences come and go: each tick takes those whose last turn is
/// longest ago, as many as are its share. So turns stay as they are while nobody comes or goes.
///
/// A tick is asked about in three steps: begin(), add() for each sequence, share_out(). Then take()
/// says of each whether it is its turn. Owner only. Allocates in the constructor alone.
class DecodeTurns {
 public:
  explicit DecodeTurns(const DeviceLimits& limits);

  void begin(std::uint64_t tick);
  /// Adds a sequence that decodes: the last tick that it was in, and whether it can be in this one.
  void add(std::uint64_t last_tick, bool can);
  void share_out();
  /// Returns whether a sequence that can be in the tick is to be. True as often as is the tick's
  /// share.
  [[nodiscard]] bool take(std::uint64_t last_tick) noexcept;

  /// How many sequences were added, in whatever tick each of them is; 0 with one stage, whose
  /// sequences take no turns.
  [[nodiscard]] std::size_t decoding() const noexcept { return decoding_; }

 private:
  /// How many sequences one of the last ticks took.
  struct Share {
    std::uint64_t tick = 0;
    std::size_t taken = 0;
  };

  [[nodiscard]] std::size_t share_of_tick() const;
  [[nodiscard]] Share& share(std::uint64_t tick) { return shares_[tick % shares_.size()]; }

  std::vector<Share> shares_;           // of the last S ticks, by number modulo S
  std::vector<std::uint64_t> waiting_;  // the last ticks of those that can be in this one
  std::uint64_t tick_ = 0;
  std::size_t decoding_ = 0;
  // Whose last tick is before this one have their turn, and so many of those whose last it is.
  std::uint64_t newest_ = 0;
  std::size_t of_newest_ = 0;
};

}  // namespace weft
