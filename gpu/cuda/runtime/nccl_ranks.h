#pragma once

#include <memory>
#include <string>

#include "weft/gpu/cuda/runtime/collectives.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/gpu/cuda/runtime/runtime.h"

namespace weft::cuda {

/// One rank's communicators; small sums go through the ranks' memory instead (PeerSums). What NCCL
/// refuses is a Status beyond those of CUDA. The rank's own thread alone, but for what says
/// otherwise.
///
/// A rank that is lost would leave the others' kernels waiting for ever. So whoever waits looks at
/// state(), and leave() ends all that waits on this GPU: its communicators are aborted, each on a
/// thread of its own, since one may wait for another's kernel. They end when the graphs that hold
/// them are gone, for which the end of this object waits.
class NcclRanks {
 public:
  /// Meets the others; blocks until all have come. `ranks` is null on failure.
  static Status join(const CudaRank& place, std::unique_ptr<NcclRanks>& ranks);

  virtual ~NcclRanks() = default;
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  virtual Status run(const CudaAllReduceParams& params, Stream stream) = 0;
  virtual Status run(const CudaSumNormParams& params, Stream stream) = 0;
  virtual Status run(const CudaGatherParams& params, Stream stream) = 0;
  virtual Status run(const CudaSendParams& params, Stream stream) = 0;
  virtual Status run(const CudaReceiveParams& params, Stream stream) = 0;
  virtual Status run(const CudaTokensParams& params, Stream stream) = 0;

  /// kRankLost when a rank is lost or this one has left; what a communicator failed at.
  virtual Status state() = 0;
  /// Any number of times. After it nothing waits for another rank.
  virtual void leave() noexcept = 0;
  /// Any thread.
  virtual void abandon() noexcept = 0;

 protected:
  NcclRanks() = default;
};

/// Whether the status is NCCL's, and what it says.
[[nodiscard]] bool is_nccl(Status status) noexcept;
[[nodiscard]] std::string describe_nccl(Status status);

}  // namespace weft::cuda
