#pragma once

#include <memory>
#include <string>

#include "weft/gpu/cuda/runtime/collectives.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/gpu/cuda/runtime/runtime.h"

namespace weft::cuda {

/// One rank's NCCL communicators; small sums go through the ranks' memory instead (PeerSums). An
/// NCCL error is a Status above CUDA's. Only the rank's own thread may call, except where a
/// function says otherwise.
///
/// A lost rank would leave the other ranks' kernels waiting for ever. So a waiting rank polls
/// state(), and leave() ends all waiting work on this GPU. It aborts each communicator on a thread
/// of its own, since one abort may wait for another communicator's kernel. The aborts end when the
/// graphs that hold the communicators are destroyed. The destructor waits for the aborts.
class NcclRanks {
 public:
  /// Meets the other ranks; blocks until all have come. `ranks` is null on failure.
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

  /// Returns kRankLost if a rank is lost or this rank has left, otherwise the error of a
  /// communicator.
  virtual Status state() = 0;
  /// May be called repeatedly. Afterwards no work waits for another rank.
  virtual void leave() noexcept = 0;
  /// Any thread.
  virtual void abandon() noexcept = 0;

 protected:
  NcclRanks() = default;
};

/// Returns whether the status is NCCL's. describe_nccl() returns its text.
[[nodiscard]] bool is_nccl(Status status) noexcept;
[[nodiscard]] std::string describe_nccl(Status status);

}  // namespace weft::cuda
