// Replaces nccl_ranks.cc in a build with CUDA and without NCCL's header.

#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/runtime/nccl_ranks.h"
#include "weft/gpu/device_error.h"

namespace weft::cuda {

Status NcclRanks::join(const CudaRank& /*place*/, std::unique_ptr<NcclRanks>& /*ranks*/) {
  return kRankLost;
}

Result<std::shared_ptr<CudaRanks>> make_ranks(const std::vector<std::int32_t>& /*widths*/,
                                              const std::vector<bool>& /*on_host*/) {
  return Error{DeviceErrc::kNoGpuSupport, "partition: this build knows no NCCL"};
}

bool is_nccl(Status /*status*/) noexcept { return false; }
std::string describe_nccl(Status /*status*/) { return ""; }
std::string nccl_version() { return ""; }

}  // namespace weft::cuda
