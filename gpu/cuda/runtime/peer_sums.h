#pragma once

#include <cstdint>
#include <memory>

#include "weft/gpu/cuda/runtime/collectives.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/kernels/peer/peer_sum_cuda.h"

namespace weft::cuda {

/// Adds up small sums of a stage's ranks through each other's memory, because NCCL takes as long
/// for 64 KB as for nothing. If a GPU cannot access another's memory, or is in another process, no
/// rank of the stage sums up this way. Belongs to one rank; only that rank's thread may call.
class PeerSums {
 public:
  /// Makes this rank's inbox and shows it to the other ranks of the process. Call it before the
  /// stage's ranks meet, so that each rank finds all inboxes afterwards. `sums` becomes null if the
  /// stage has one rank or more than kMostPeers.
  static Status show(const CudaRank& place, std::unique_ptr<PeerSums>& sums);

  /// Does not wait. Other ranks may still write into the inbox; it lives as long as theirs.
  ~PeerSums();
  PeerSums(const PeerSums&) = delete;
  PeerSums& operator=(const PeerSums&) = delete;

  /// Finds the other ranks' inboxes. Call it when all ranks have met.
  Status meet();

  /// Whether this object computes the sum; all ranks answer alike. False for a sum whose waiting
  /// threads would fill more than half of a GPU: two models that are cut for the same GPUs could
  /// block each other's ranks.
  [[nodiscard]] bool takes(const CudaAllReduceParams& params, bool has_norm) const;
  /// Computes a sum that takes() accepts. `norm` may be null.
  Status run(const CudaAllReduceParams& params, const CudaNormParams* norm, Stream stream);

  /// Ends all waiting for other ranks in this object, now and later. May be called repeatedly.
  void leave() noexcept;

 private:
  PeerSums(const CudaRank& place, std::int32_t ranks) : place_(place), ranks_(ranks) {}

  Status take_inbox();

  const CudaRank place_;
  const std::int32_t ranks_;
  std::uint32_t* is_lost_ = nullptr;
  PeerInboxes inboxes_;
  int processors_ = 0;  ///< multiprocessors of the smallest GPU, the same on all ranks
  bool have_met_ = false;
};

}  // namespace weft::cuda
