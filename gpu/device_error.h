#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// Errors of devices.
enum class DeviceErrc {
  /// This build of Weft has no code for GPUs.
  kNoGpuSupport = 1,
  /// There is no device of that name.
  kNoSuchDevice,
  /// The driver or the device reported an error; the detail has its text.
  kDriver,
  /// There is not enough memory; the detail says how much was requested.
  kOutOfMemory,
  /// A token or a position is outside of what the model knows; the detail has the numbers.
  kOutOfRange,
  /// The device lacks something that the call needs, or the model cannot be laid out on devices as
  /// the configuration says. The detail says what.
  kUnfit,
  /// A file of `weft tune` cannot be read; the detail has its name, the line and the reason.
  kBadTuning,
  /// Another process of the model is lost or cannot be reached; the detail says which and why.
  kRankLost,
};

/// The category of these errors, and the conversion to boost::system::error_code.
[[nodiscard]] const TableCategory& device_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(DeviceErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::DeviceErrc> : std::true_type {};
