#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/time/clock.h"
#include "weft/core/token.h"
#include "weft/kernels/rows.h"
#include "weft/model/program/program_part.h"

namespace weft {

/// The most ranks of a model: a typing error must not start a thousand threads.
inline constexpr std::size_t kMostRanks = 64;

/// A token chosen for a slot (PlanReader); kNoToken if none could be chosen.
struct SlotToken {
  std::int32_t slot = 0;
  TokenId token = kNoToken;
};

/// The exchange of numbers between one rank on the host and the model's other ranks: the data
/// plane. Every rank of a stage calls all_reduce() and gather() in the same order and with the same
/// sizes, as their programs say. A call returns when this rank's part of it is done. When a rank is
/// lost, every waiting call and every later call throws ActorFailure(kDeviceLost). One thread at a
/// time, except for abandon().
class RankLink {
 public:
  RankLink() = default;
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;
  virtual ~RankLink() = default;

  /// values = the sum over the stage's ranks, in their order, so the same on each rank.
  virtual void all_reduce(std::span<float> values) = 0;

  /// Collects the columns of all ranks in `whole` on the stage's first rank; `columns` says where
  /// each rank's columns go. `part` has this rank's columns. `whole` is empty on the other ranks.
  virtual void gather(const ConstRows& part, std::span<const Extent> columns,
                      const Rows& whole) = 0;

  /// send() sends the stream to the ranks of the next stage that take it; it waits while the
  /// receiver is two steps behind. receive() receives the stream from the previous stage.
  virtual void send(std::span<const float> values) = 0;
  virtual void receive(std::span<float> values) = 0;

  /// Sends tokens from the rank that chooses them, once a step, to the ranks of the first stage.
  virtual void tell_tokens(std::span<const SlotToken> tokens) = 0;
  /// Returns the next tokens that were sent by tell_tokens(). Borrowed until the next call.
  virtual std::span<const SlotToken> hear_tokens() = 0;

  /// Returns how long all calls so far have waited for other ranks.
  [[nodiscard]] virtual Duration waited() const noexcept = 0;

  /// Reports that a rank is lost. Any thread.
  virtual void abandon() noexcept = 0;
};

}  // namespace weft
