#pragma once

#include <cstdint>
#include <memory>

#include "weft/gpu/cuda/runtime/collectives.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/kernels/peer/peer_sum_cuda.h"

namespace weft::cuda {

/// Sums of a stage's ranks through each other's memory, for what is small: NCCL takes as long for
/// 64 KB as for nothing. Where GPUs do not reach each other, or are of other processes, no rank of
/// the stage sums up so. One rank's; its own thread alone.
class PeerSums {
 public:
  /// Makes this rank's inbox and shows it to the others of the process. Before the stage's ranks
  /// meet: whoever has met finds the inboxes of all. Null where the stage has one rank, or more
  /// than kMostPeers.
  static Status show(const CudaRank& place, std::unique_ptr<PeerSums>& sums);

  /// Waits for nobody. The others may write into its inbox still, which stays as long as theirs.
  ~PeerSums();
  PeerSums(const PeerSums&) = delete;
  PeerSums& operator=(const PeerSums&) = delete;

  /// Looks for the others' inboxes, when all have met.
  Status meet();

  /// Whether these are summed up here; the same for all ranks. Not where it would fill more than
  /// half of a GPU with threads that wait: two models that are cut for the same GPUs must not keep
  /// each other's ranks out.
  [[nodiscard]] bool takes(const CudaAllReduceParams& params, bool has_norm) const;
  /// Only what it takes. `norm` may be null.
  Status run(const CudaAllReduceParams& params, const CudaNormParams* norm, Stream stream);

  /// Ends all that waits here for other ranks, now and later. Any number of times.
  void leave() noexcept;

 private:
  PeerSums(const CudaRank& place, std::int32_t ranks) : place_(place), ranks_(ranks) {}

  Status take_inbox();

  const CudaRank place_;
  const std::int32_t ranks_;
  std::uint32_t* is_lost_ = nullptr;
  PeerInboxes inboxes_;
  int processors_ = 0;  ///< the same on all ranks: of the smallest GPU
  bool have_met_ = false;
};

}  // namespace weft::cuda
