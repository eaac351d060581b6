#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/core/error.h"

namespace weft {

/// What can go wrong with a device.
enum class DeviceErrc {
  /// This build of Weft has no code for GPUs.
  kNoGpuSupport = 1,
  /// There is no device of that name.
  kNoSuchDevice,
  /// The driver or the device reported an error; the detail has its text.
  kDriver,
  /// There is not enough memory; the detail says how much was wanted.
  kOutOfMemory,
  /// A token or a position is outside what the model knows; the detail has the numbers.
  kOutOfRange,
  /// The device is there and has not what this needs; the detail says what.
  kUnfit,
  /// A file of `weft tune` cannot be read; the detail has its name, the line and what is wrong.
  kBadTuning,
};

[[nodiscard]] const TableCategory& device_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(DeviceErrc code) noexcept;

/// One place where a model can run.
struct DeviceInfo {
  std::string name;          ///< How it is asked for: "cpu", "cuda:0", "cuda:1", ...
  std::string model;         ///< The maker's name for it.
  int processors = 0;        ///< Cores that this process may use; multiprocessors of a GPU.
  std::string architecture;  ///< "x86-64", "sm_90", ...
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

/// The version of NCCL that GPUs exchange tensors with, as "2.27.3"; empty when this build has
/// none.
[[nodiscard]] std::string nccl_version();

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::DeviceErrc> : std::true_type {};
