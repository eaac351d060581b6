#include "weft/gpu/cuda/runtime/cuda_info.h"

#include <cuda_runtime_api.h>

#include <charconv>

#include "weft/gpu/cuda/runtime/read_bandwidth.h"

namespace weft::cuda {
namespace {

constexpr std::string_view kPrefix = "cuda:";

Error driver_error(cudaError_t status, const std::string& what) {
  return {DeviceErrc::kDriver, what + ": " + cudaGetErrorString(status)};
}

/// Returns the number of GPUs. A machine without a driver has none; that is no error.
Result<int> device_count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) return 0;
  if (status != cudaSuccess) return driver_error(status, "counting GPUs");
  return count;
}

Result<DeviceInfo> device_info(int index) {
  const std::string name = std::string(kPrefix) + std::to_string(index);
  cudaDeviceProp properties{};
  if (const auto status = cudaGetDeviceProperties(&properties, index); status != cudaSuccess) {
    return driver_error(status, name);
  }
  std::size_t free_bytes = 0;
  std::size_t memory_bytes = 0;
  auto status = cudaSetDevice(index);
  if (status == cudaSuccess) status = cudaMemGetInfo(&free_bytes, &memory_bytes);
  if (status != cudaSuccess) return driver_error(status, name);
  return DeviceInfo{
      .name = name,
      .model = properties.name,
      .processors = properties.multiProcessorCount,
      .architecture = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor),
      .memory_bytes = memory_bytes,
      .free_bytes = free_bytes};
}

}  // namespace

Result<int> device_index(const std::string& name) {
  const auto count = device_count();
  if (!count) return count.error();
  int index = -1;
  if (name.starts_with(kPrefix)) {
    const char* begin = name.data() + kPrefix.size();
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(begin, end, index);
    if (error != std::errc() || rest != end) index = -1;
  }
  if (index < 0 || index >= *count) return Error{DeviceErrc::kNoSuchDevice, name};
  return index;
}

Result<std::vector<DeviceInfo>> list_devices() {
  const auto count = device_count();
  if (!count) return count.error();
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < *count; ++index) {
    auto device = device_info(index);
    if (!device) return device.error();
    devices.push_back(std::move(*device));
  }
  return devices;
}

Result<double> measure_read_bandwidth(const std::string& name) {
  const auto index = device_index(name);
  if (!index) return index.error();
  double bytes_per_second = 0;
  if (const Status status = read_bandwidth(*index, bytes_per_second); status != Status::kSuccess) {
    return driver_error(static_cast<cudaError_t>(status), name);
  }
  return bytes_per_second;
}

}  // namespace weft::cuda
