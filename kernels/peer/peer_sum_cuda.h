#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/norm/norm.h"

namespace weft::cuda {

/// Ranks that sum up through each other's memory, at most.
inline constexpr std::int32_t kMostPeers = 8;

/// What ranks on GPUs that reach each other's memory sum up through. Each has an inbox, in its own
/// memory, into which the others write: f32 [2, ranks, numbers], all bits set where nothing stands.
/// What is there is read once and taken away, so a number says by being there that it has come, and
/// no flag follows it. The two halves are used in turn: who writes into one has seen something that
/// each other rank wrote after it had emptied it. All memory is the owner's, of whom all these are
/// borrowed.
struct PeerInboxes {
  std::int32_t ranks = 0;
  std::int32_t rank = 0;
  std::int64_t numbers = 0;  ///< rows * (width rounded up to 4) that fit
  float* of_rank[kMostPeers] = {};
  /// [2] of this GPU's, zeros at first: the half that is next, and blocks that are done with it.
  std::uint32_t* turn = nullptr;
  /// The host's: no longer 0 once nobody is to wait for another rank.
  const std::uint32_t* is_lost = nullptr;
};

/// Bytes of an inbox, which is filled with kEmptyInbox.
[[nodiscard]] constexpr std::size_t inbox_bytes(std::int32_t ranks, std::int64_t numbers) noexcept {
  return 2 * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(numbers) * sizeof(float);
}
inline constexpr int kEmptyInbox = 0xff;  ///< each byte

/// How the ranks sum up: each adds up what all have sent it; or each adds up its share of the
/// numbers and sends the others the sums, which is less to send where there are more than two.
enum class PeerSum : std::uint8_t { kOneShot, kTwoShots };

/// The one that is sooner for so many bytes of each rank. Two ranks send the same either way; more
/// send less in two shots, which take longer to begin: among four H200s 128 KB took 4.6 us in one
/// shot and 4.8 in two, 256 KB 5.9 and 5.2.
[[nodiscard]] constexpr PeerSum sooner_way(std::int32_t ranks, std::int64_t bytes) noexcept {
  constexpr std::int64_t kMostSentAtOnce = std::int64_t{384} << 10U;  // by each rank
  return ranks > 2 && bytes * (ranks - 1) > kMostSentAtOnce ? PeerSum::kTwoShots
                                                            : PeerSum::kOneShot;
}

/// values = the sum over the ranks in their order, the same bits on each; then the norm of these,
/// whose `in` they are, where there is one. All ranks launch the same in the same order.
///
/// Numbers that are their own flags are Lamport's, as used by TensorRT-LLM's all-reduce for small
/// messages; the two ways to sum up are those of Rabenseifner, "Optimization of Collective
/// Reduction Operations" (2004), section 2.
struct CudaPeerSumParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
  PeerInboxes inboxes{};
  PeerSum way = PeerSum::kOneShot;
  bool has_norm = false;
  CudaNormParams norm{};
};

/// Whether so much fits an inbox.
[[nodiscard]] constexpr bool fits(const PeerInboxes& inboxes, std::int64_t rows,
                                  std::int64_t width) noexcept {
  return rows * ((width + 3) / 4 * 4) <= inboxes.numbers;
}

/// Whether the threads of a sum fill at most half of a GPU with so many processors. They wait for
/// those of the other ranks, so what they fill is closed to whoever else has to run there before
/// these go on.
[[nodiscard]] bool leaves_half(std::int64_t rows, std::int64_t width, bool has_norm,
                               std::int64_t processors);

/// What does not fit is cudaErrorInvalidValue, as is a norm of what norm() refuses.
[[nodiscard]] Status peer_sum(const CudaPeerSumParams& params, Stream stream);

}  // namespace weft::cuda
