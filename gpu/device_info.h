#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/device_error.h"

namespace weft {

/// The name by which the host's processor is selected as a device.
inline constexpr std::string_view kHostDevice = "cpu";

/// A processor or GPU on which a model can run.
struct DeviceInfo {
  std::string name{};          ///< Name by which it is selected: "cpu", "cuda:0", "cuda:1", ...
  std::string model{};         ///< The maker's name for it.
  int processors = 0;          ///< Cores that this process may use; for a GPU its multiprocessors.
  std::string architecture{};  ///< "x86-64", "sm_90", ...
  std::size_t memory_bytes = 0;
  std::size_t free_bytes = 0;  ///< Free memory at the time of the call; others may take it.
};

/// Returns the host alone. It does not ask GPUs, because a driver takes memory of each GPU that is
/// asked.
[[nodiscard]] DeviceInfo host_info();

/// Returns the host first, then the GPUs. No GPU and no driver are no error; an installed driver
/// that does not answer is one. Thread-safe.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();

/// Returns the bytes per second at which device `name` reads memory far larger than its caches: the
/// limit for decode steps. Takes up to 1 GiB of the device's memory for some seconds. Thread-safe;
/// meaningless while others use the device.
[[nodiscard]] Result<double> measure_read_bandwidth(const std::string& name);

/// Loads NCCL, with which GPUs exchange tensors, and returns its version, as in "2.27.3". Empty if
/// this build does not support NCCL, or if it is not installed.
[[nodiscard]] std::string nccl_version();

}  // namespace weft
