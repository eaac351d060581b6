#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/runtime/peer_board.h"

namespace weft::cuda {

/// The numbers that the ranks of a group exchange.
enum class GroupKind : std::uint8_t {
  kStage,   ///< sums and columns, among ranks that share layers
  kStream,  ///< the stream, from a stage to the next
  kTokens,  ///< chosen tokens, from the first rank of the group to the others
};

/// Ranks that exchange numbers. Ranks are numbered stage by stage.
struct NcclGroup {
  GroupKind kind = GroupKind::kStage;
  std::int32_t stage = 0;  ///< of kStage; the sending stage of kStream
  std::vector<std::int32_t> ranks;
};

/// The groups of a model whose stages have `widths` ranks, in the order in which all ranks join
/// them. Left out are groups of one rank and groups that a rank on the host would be in: `on_host`
/// says which stages are on the host; empty: none.
[[nodiscard]] std::vector<NcclGroup> rank_groups(const std::vector<std::int32_t>& widths,
                                                 const std::vector<bool>& on_host = {});

/// The number of a rank among all ranks of the model.
[[nodiscard]] std::int32_t rank_number(const std::vector<std::int32_t>& widths, std::int32_t stage,
                                       std::int32_t rank);

/// The common data of one model's ranks, by which they find each other. Thread-safe.
struct CudaRanks {
  /// The bytes of an ncclUniqueId.
  using GroupId = std::array<char, 128>;

  explicit CudaRanks(std::vector<std::int32_t> ranks_of_stages, std::vector<bool> host_stages = {})
      : widths(std::move(ranks_of_stages)),
        on_host(std::move(host_stages)),
        groups(rank_groups(widths, on_host)) {}

  /// Whether the stage is on the host; false where there is none.
  [[nodiscard]] bool is_on_host(std::int32_t stage) const noexcept {
    const auto index = static_cast<std::size_t>(stage);
    return stage >= 0 && index < on_host.size() && on_host[index];
  }

  const std::vector<std::int32_t> widths;
  const std::vector<bool> on_host;  ///< by stage; empty: none
  const std::vector<NcclGroup> groups;
  std::vector<GroupId> ids;  ///< of the groups
  PeerBoard peers;
  bool several_processes = false;  ///< one for each rank; `lost` is of this process alone
  std::atomic<bool> lost{false};   ///< a rank is lost; no rank waits for another any more
};

/// Which rank of a model a GPU is.
struct CudaRank {
  std::shared_ptr<CudaRanks> all;
  std::int32_t stage = 0;
  std::int32_t rank = 0;  ///< in its stage
};

/// Makes the common data of ranks of this process; `on_host` is as in rank_groups(). Loads NCCL
/// where GPUs exchange anything. kUnfit naming the library where it is missing; kDriver;
/// kNoGpuSupport in a build without CUDA or NCCL.
[[nodiscard]] Result<std::shared_ptr<CudaRanks>> make_ranks(const std::vector<std::int32_t>& widths,
                                                            const std::vector<bool>& on_host = {});

}  // namespace weft::cuda
