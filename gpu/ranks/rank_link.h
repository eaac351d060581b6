#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/time/clock.h"
#include "weft/core/token.h"
#include "weft/kernels/rows.h"
#include "weft/model/program/program_part.h"

namespace weft {

/// Ranks of a model, at most: a spelling mistake is not to start a thousand threads.
inline constexpr std::size_t kMostRanks = 64;

/// A token that was chosen for a slot (PlanReader); kNoToken where none could be.
struct SlotToken {
  std::int32_t slot = 0;
  TokenId token = kNoToken;
};

/// How one rank on the host exchanges numbers with the model's other ranks: the data plane. Every
/// rank of a stage calls all_reduce() and gather() in the same order and with the same sizes, as
/// their programs say; a call returns when this rank's part of it is done. When a rank is lost,
/// every waiting call throws ActorFailure(kDeviceLost), and so does every later call. One thread at
/// a time, except for abandon().
class RankLink {
 public:
  RankLink() = default;
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;
  virtual ~RankLink() = default;

  /// values = the sum over the stage's ranks, added up in their order, so the same on each.
  virtual void all_reduce(std::span<float> values) = 0;

  /// The stage's first rank gets in `whole` all ranks' columns, of which `columns` says where they
  /// stand; `whole` of the others is empty. `part` is this rank's.
  virtual void gather(const ConstRows& part, std::span<const Extent> columns,
                      const Rows& whole) = 0;

  /// Sends the stream to the ranks of the next stage that take it; receives it from the stage
  /// before. send() waits while the receiver is two steps behind.
  virtual void send(std::span<const float> values) = 0;
  virtual void receive(std::span<float> values) = 0;

  /// From the rank that chooses tokens, once a step, to those of the first stage.
  virtual void tell_tokens(std::span<const SlotToken> tokens) = 0;
  /// The tokens that were told next. Borrowed until the next call.
  virtual std::span<const SlotToken> hear_tokens() = 0;

  /// How long all calls so far have waited for other ranks.
  [[nodiscard]] virtual Duration waited() const noexcept = 0;

  /// Says that a rank is lost. Any thread.
  virtual void abandon() noexcept = 0;
};

}  // namespace weft
