#pragma once

#include <cstdint>
#include <memory>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/step_device.h"
#include "weft/model/program/program.h"
#include "weft/sampling/drafters/drafter.h"

namespace weft {

/// Checks whether a draft model can guess for a model. kUnfit naming speculation.model: the draft
/// model cannot continue a text, or it cannot follow the sequences of the model.
[[nodiscard]] Result<void> check_draft(const Program& draft, const Program& model);

/// Adds the needs of a draft model on the host to the needs of its model: the draft model's weights
/// once, and its pages and buffers for each replica. `draft` must outlive the result.
[[nodiscard]] DeviceNeeds with_draft(DeviceNeeds needs, const Program& draft, DType kv_dtype,
                                     std::int32_t page_tokens, std::int64_t replicas);

/// Makes the drafters of a model's replicas on the host, one drafter for each device. If the wishes
/// have a draft model, the drafters share the draft model's weights. Owner only.
class HostDrafters {
 public:
  /// `wishes` outlive the object. `threads` are of each replica.
  HostDrafters(const DeviceWishes& wishes, DType kv_dtype, int threads)
      : wishes_(wishes), kv_dtype_(kv_dtype), threads_(threads) {}

  /// Returns a drafter for a device with these limits; null where it guesses nothing. Loads the
  /// draft model at the first call. Errors of HostDevice::load().
  [[nodiscard]] Result<std::unique_ptr<Drafter>> make(const DeviceLimits& limits,
                                                      const LoadProgress& progress);

 private:
  [[nodiscard]] Result<std::unique_ptr<HostDevice>> load(const DeviceOptions& options,
                                                         const LoadProgress& progress);

  const DeviceWishes& wishes_;
  const DType kv_dtype_;
  const int threads_;
  std::shared_ptr<const HostWeights> weights_;  // the draft model's, once loaded
};

}  // namespace weft
