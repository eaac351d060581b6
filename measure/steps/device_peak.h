#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/core/error/error.h"
#include "weft/model/program/program.h"

namespace weft::measure {

/// Measures the most that a device can do when it has no other work, in turn with the measured
/// steps. Owner only.
class DevicePeak {
 public:
  DevicePeak() = default;
  DevicePeak(const DevicePeak&) = delete;
  DevicePeak& operator=(const DevicePeak&) = delete;
  virtual ~DevicePeak() = default;

  /// Seconds for reading so many bytes, of as much memory or of 1 GiB over and over: the mean of
  /// `times` in a row, after one that is not counted.
  [[nodiscard]] virtual Result<double> read(double bytes, std::int32_t times) = 0;
  /// Seconds for so many operations on registers alone; none where that is not measured.
  [[nodiscard]] virtual std::optional<double> compute(double operations) = 0;

  /// How it reads and computes, for reports.
  [[nodiscard]] virtual std::string reader() const = 0;
  [[nodiscard]] virtual std::string computer() const = 0;
};

/// Makes the peak of a device as it runs `program`: on the host with as many threads (0: all), and
/// with products of bf16 where processor and weights have them. On a GPU only reading is measured.
/// Takes up to 1 GiB, no more than `most_bytes`. kOutOfMemory.
[[nodiscard]] Result<std::unique_ptr<DevicePeak>> make_device_peak(const std::string& device,
                                                                   int threads,
                                                                   const Program& program,
                                                                   double most_bytes);

}  // namespace weft::measure
