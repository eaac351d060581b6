#pragma once

#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/device_info.h"

/// What gpu/device_info.h says of GPUs. A build without CUDA has these functions too (no_cuda.cc):
/// it knows of no device and refuses the rest with kNoGpuSupport.
namespace weft::cuda {

[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();
/// The number in "cuda:NUMBER" of a device that is there. kNoSuchDevice.
[[nodiscard]] Result<int> device_index(const std::string& name);
[[nodiscard]] Result<double> measure_read_bandwidth(const std::string& name);
[[nodiscard]] std::string nccl_version();

}  // namespace weft::cuda
