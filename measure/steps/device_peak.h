#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/core/error/error.h"
#include "weft/model/program/program.h"

namespace weft::measure {

/// Measures the peak rates of a device without other work, in turn with the measured steps. Owner
/// only.
class DevicePeak {
 public:
  DevicePeak() = default;
  DevicePeak(const DevicePeak&) = delete;
  DevicePeak& operator=(const DevicePeak&) = delete;
  virtual ~DevicePeak() = default;

  /// Returns the seconds for reading this many bytes, from as much memory, or from 1 GiB
  /// repeatedly. It is the mean of `times` readings in a row, after one that is not counted.
  [[nodiscard]] virtual Result<double> read(double bytes, std::int32_t times) = 0;
  /// Returns the seconds for this many operations on registers alone; nothing where that is not
  /// measured.
  [[nodiscard]] virtual std::optional<double> compute(double operations) = 0;

  /// Returns a description of how it reads and computes, for reports.
  [[nodiscard]] virtual std::string reader() const = 0;
  [[nodiscard]] virtual std::string computer() const = 0;
};

/// Makes the peak of a device for `program`. On the host it uses `threads` threads (0: all), and
/// products of bf16 where processor and weights have them. On a GPU only reading is measured. Takes
/// up to 1 GiB, but no more than `most_bytes`. kOutOfMemory.
[[nodiscard]] Result<std::unique_ptr<DevicePeak>> make_device_peak(const std::string& device,
                                                                   int threads,
                                                                   const Program& program,
                                                                   double most_bytes);

}  // namespace weft::measure
