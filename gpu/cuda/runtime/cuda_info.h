#pragma once

#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/device_info.h"

/// Implements gpu/device_info.h for GPUs. A build without CUDA has these functions too
/// (no_cuda.cc): they list no device and refuse other calls with kNoGpuSupport.
namespace weft::cuda {

[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();
/// Returns NUMBER of an existing device "cuda:NUMBER". kNoSuchDevice.
[[nodiscard]] Result<int> device_index(const std::string& name);
[[nodiscard]] Result<double> measure_read_bandwidth(const std::string& name);
[[nodiscard]] std::string nccl_version();

}  // namespace weft::cuda
