#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/gpu/sequence_traits.h"

namespace weft {

/// An adapter as a device computes with it, in host memory, for the device's part of the model
/// (StepDevice::prepare_adapter). Immutable; shared by threads.
class DeviceAdapter {
 public:
  DeviceAdapter() = default;
  DeviceAdapter(const DeviceAdapter&) = delete;
  DeviceAdapter& operator=(const DeviceAdapter&) = delete;
  virtual ~DeviceAdapter() = default;

  /// Returns the bytes of host memory that it takes.
  [[nodiscard]] virtual std::int64_t bytes() const noexcept = 0;
};

/// An adapter that all ranks of a model have prepared. Immutable; shared by threads.
struct PreparedAdapter {
  AdapterId id{};          ///< not zeros
  std::int64_t bytes = 0;  ///< bytes of host memory, of all ranks together
  std::vector<std::shared_ptr<const DeviceAdapter>> by_rank{};  ///< in the order of DeviceRanks
};

}  // namespace weft
