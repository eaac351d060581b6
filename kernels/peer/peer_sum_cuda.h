#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/norm/norm.h"

namespace weft::cuda {

/// The most ranks that sum up through each other's memory.
inline constexpr std::int32_t kMostPeers = 8;

/// Inboxes through which ranks sum up, on GPUs that reach each other's memory. Each rank has an
/// inbox in its own memory, into which the others write: f32 [2, ranks, numbers]. An empty place
/// has all bits set. The owner reads a number once and empties its place, so a number is its own
/// flag of arrival. The two halves alternate: a rank writes into a half only after it has received
/// from every other rank a number that was sent after that rank had emptied the half. All memory is
/// borrowed.
struct PeerInboxes {
  std::int32_t ranks = 0;
  std::int32_t rank = 0;
  std::int64_t numbers = 0;  ///< numbers that fit: rows * (width rounded up to 4)
  float* of_rank[kMostPeers] = {};
  /// [2] in this GPU's memory, initially zeros: the next half, and the blocks that are done.
  std::uint32_t* turn = nullptr;
  /// In host memory; not 0 once a rank is lost, so that no rank may wait for another.
  const std::uint32_t* is_lost = nullptr;
};

/// Bytes of an inbox. Initially each byte is kEmptyInbox.
[[nodiscard]] constexpr std::size_t inbox_bytes(std::int32_t ranks, std::int64_t numbers) noexcept {
  return 2 * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(numbers) * sizeof(float);
}
inline constexpr int kEmptyInbox = 0xff;  ///< each byte

/// How the ranks sum up. One shot: each rank sends all its numbers to all others and adds up. Two
/// shots: each rank adds up a share and sends the sums, which is less to send with over two ranks.
enum class PeerSum : std::uint8_t { kOneShot, kTwoShots };

/// Returns the faster way for this many bytes of each rank. Two ranks send the same bytes either
/// way. More ranks send fewer bytes in two shots, but with a higher latency: among four H200s 128
/// KB took 4.6 us in one shot and 4.8 in two, 256 KB 5.9 and 5.2.
[[nodiscard]] constexpr PeerSum sooner_way(std::int32_t ranks, std::int64_t bytes) noexcept {
  constexpr std::int64_t kMostSentAtOnce = std::int64_t{384} << 10U;  // bytes sent by each rank
  return ranks > 2 && bytes * (ranks - 1) > kMostSentAtOnce ? PeerSum::kTwoShots
                                                            : PeerSum::kOneShot;
}

/// values = the sum over the ranks in their order, the same bits on each rank; with has_norm, then
/// the norm of these values (they are norm.in). All ranks launch the same sums in the same order.
///
/// Numbers that are their own flags are Lamport's idea, which TensorRT-LLM's all-reduce uses for
/// small messages; the two ways to sum up are from Rabenseifner, "Optimization of Collective
/// Reduction Operations" (2004), section 2.
struct CudaPeerSumParams {
  std::int64_t rows = 0;
  DeviceRows values{};  ///< f32
  PeerInboxes inboxes{};
  PeerSum way = PeerSum::kOneShot;
  bool has_norm = false;
  CudaNormParams norm{};
};

/// Whether `rows` rows fit into an inbox.
[[nodiscard]] constexpr bool fits(const PeerInboxes& inboxes, std::int64_t rows,
                                  std::int64_t width) noexcept {
  return rows * ((width + 3) / 4 * 4) <= inboxes.numbers;
}

/// Whether the threads of a sum fill at most half of a GPU with `processors` multiprocessors. They
/// wait for the other ranks' threads, so they must leave room for kernels that the other ranks
/// depend on.
[[nodiscard]] bool leaves_half(std::int64_t rows, std::int64_t width, bool has_norm,
                               std::int64_t processors);

/// Rows that do not fit, and rows that norm() refuses, are cudaErrorInvalidValue.
[[nodiscard]] Status peer_sum(const CudaPeerSumParams& params, Stream stream);

}  // namespace weft::cuda
