#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/device_error.h"

namespace weft {

/// The name of the host's processor among devices.
inline constexpr std::string_view kHostDevice = "cpu";

/// A processor or GPU on which a model can run.
struct DeviceInfo {
  std::string name{};          ///< How it is asked for: "cpu", "cuda:0", "cuda:1", ...
  std::string model{};         ///< The maker's name for it.
  int processors = 0;          ///< Cores that this process may use; multiprocessors of a GPU.
  std::string architecture{};  ///< "x86-64", "sm_90", ...
  std::size_t memory_bytes = 0;
  std::size_t free_bytes = 0;  ///< When it was asked; others may take it.
};

/// The host alone, without a look at GPUs, whose drivers take memory of each that is asked.
[[nodiscard]] DeviceInfo host_info();

/// The host first, then the GPUs. A driver that is there and does not answer is an error; no GPU
/// and no driver are not. Thread-safe.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();

/// Bytes per second at which the device called `name` reads memory far larger than its caches: the
/// limit that decode steps are measured against. Takes up to 1 GiB of its memory for some seconds.
/// Thread-safe; meaningless while others use the device.
[[nodiscard]] Result<double> measure_read_bandwidth(const std::string& name);

/// The version of NCCL that GPUs exchange tensors with, as "2.27.3"; empty when this build knows
/// none, or none is there. Loads it.
[[nodiscard]] std::string nccl_version();

}  // namespace weft
