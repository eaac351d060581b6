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
  kStream,  ///< the stream, from one stage to the next
  kTokens,  ///< chosen tokens, from the first rank of the group to the others
};

/// Ranks that exchange numbers. Ranks are numbered stage by stage.
struct NcclGroup {
  GroupKind kind = GroupKind::kStage;
  std::int32_t stage = 0;  ///< the stage of kStage; the sending stage of kStream
  std::vector<std::int32_t> ranks;
};

/// Returns the groups of a model whose stages have `widths` ranks, in the order in which all ranks
/// join them. Groups of one rank, and groups that would contain a rank on the host, are left out.
/// `on_host` says which stages are on the host; empty: none.
[[nodiscard]] std::vector<NcclGroup> rank_groups(const std::vector<std::int32_t>& widths,
                                                 const std::vector<bool>& on_host = {});

/// Returns the number of a rank among all ranks of the model.
[[nodiscard]] std::int32_t rank_number(const std::vector<std::int32_t>& widths, std::int32_t stage,
                                       std::int32_t rank);

/// Data that a model's ranks share to find each other. Thread-safe.
struct CudaRanks {
  /// The bytes of an ncclUniqueId.
  using GroupId = std::array<char, 128>;

  explicit CudaRanks(std::vector<std::int32_t> ranks_of_stages, std::vector<bool> host_stages = {})
      : widths(std::move(ranks_of_stages)),
        on_host(std::move(host_stages)),
        groups(rank_groups(widths, on_host)) {}

  /// Whether the stage is on the host; false for a stage that does not exist.
  [[nodiscard]] bool is_on_host(std::int32_t stage) const noexcept {
    const auto index = static_cast<std::size_t>(stage);
    return stage >= 0 && index < on_host.size() && on_host[index];
  }

  const std::vector<std::int32_t> widths;
  const std::vector<bool> on_host;  ///< by stage; empty: none
  const std::vector<NcclGroup> groups;
  std::vector<GroupId> ids;  ///< the groups' ids
  PeerBoard peers;
  /// Each rank is in its own process; `lost` then covers this process alone.
  bool several_processes = false;
  std::atomic<bool> lost{false};  ///< a rank is lost, so no rank may wait for another
};

/// Which rank of a model a GPU is.
struct CudaRank {
  std::shared_ptr<CudaRanks> all;
  std::int32_t stage = 0;
  std::int32_t rank = 0;  ///< number within its stage
};

/// Makes the shared data for ranks of this process; `on_host` is as in rank_groups(). Loads NCCL if
/// GPUs exchange anything. kUnfit naming a missing library; kDriver; kNoGpuSupport in a build
/// without CUDA or NCCL.
[[nodiscard]] Result<std::shared_ptr<CudaRanks>> make_ranks(const std::vector<std::int32_t>& widths,
                                                            const std::vector<bool>& on_host = {});

}  // namespace weft::cuda
