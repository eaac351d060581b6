#pragma once

#include <cstdint>
#include <memory>

#include "weft/gpu/cuda/runtime/collectives.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/kernels/peer/peer_sum_cuda.h"

namespace weft::cuda {

/// Small sums of a stage's ranks through each other's memory: NCCL takes as long for 64 KB as for
/// nothing. If a GPU cannot reach another's memory, or is of another process, no rank of the stage
/// sums this way. Belongs to one rank; only its own thread may call.
class PeerSums {
 public:
  /// Makes this rank's inbox and shows it to the other ranks of the process. To be called before
  /// the stage's ranks meet: a rank that has met the others finds all inboxes. Null where the stage
  /// has one rank, or more than kMostPeers.
  static Status show(const CudaRank& place, std::unique_ptr<PeerSums>& sums);

  /// Does not wait. Other ranks may still write into the inbox; it lives as long as theirs.
  ~PeerSums();
  PeerSums(const PeerSums&) = delete;
  PeerSums& operator=(const PeerSums&) = delete;

  /// Looks for the other ranks' inboxes, when all ranks have met.
  Status meet();

  /// Whether this object computes the sum; the same on all ranks. False for a sum that would fill
  /// more than half of a GPU with waiting threads: two models that are cut for the same GPUs must
  /// not keep each other's ranks out.
  [[nodiscard]] bool takes(const CudaAllReduceParams& params, bool has_norm) const;
  /// Computes a sum that takes() accepts. `norm` may be null.
  Status run(const CudaAllReduceParams& params, const CudaNormParams* norm, Stream stream);

  /// Ends all waiting for other ranks here, now and later. May be called repeatedly.
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
