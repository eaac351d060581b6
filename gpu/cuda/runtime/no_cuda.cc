#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/runtime/runtime.h"

namespace weft::cuda {

Result<std::vector<DeviceInfo>> list_devices() { return std::vector<DeviceInfo>{}; }

Result<int> device_index(const std::string& name) {
  const bool gpu = name.starts_with("cuda:");
  return Error{gpu ? DeviceErrc::kNoGpuSupport : DeviceErrc::kNoSuchDevice, name};
}

Result<double> measure_read_bandwidth(const std::string& name) {
  return Error{DeviceErrc::kNoGpuSupport, name};
}

Result<std::unique_ptr<Runtime>> open_runtime(int index) {
  return Error{DeviceErrc::kNoGpuSupport, "cuda:" + std::to_string(index)};
}

Result<std::shared_ptr<CudaRanks>> make_ranks(const std::vector<std::int32_t>& /*widths*/,
                                              const std::vector<bool>& /*on_host*/) {
  return Error{DeviceErrc::kNoGpuSupport, "partition: GPUs"};
}

std::string nccl_version() { return ""; }

}  // namespace weft::cuda
