#include "weft/gpu/cuda/cuda_info.h"

namespace weft::cuda {

Result<std::vector<DeviceInfo>> list_devices() { return std::vector<DeviceInfo>{}; }

Result<double> measure_read_bandwidth(const std::string& name) {
  return Error{DeviceErrc::kNoGpuSupport, name};
}

std::string nccl_version() { return ""; }

}  // namespace weft::cuda
