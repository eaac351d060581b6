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

/// Refuses a draft model that cannot continue the sequences of a model, or a model whose sequences
/// it could not follow: kUnfit, named speculation.model.
[[nodiscard]] Result<void> check_draft(const Program& draft, const Program& model);

/// Returns the needs of a model with those of its draft model on the host: its weights once, its
/// pages and buffers for each replica.
[[nodiscard]] DeviceNeeds with_draft(DeviceNeeds needs, const Program& draft, DType kv_dtype,
                                     std::int32_t page_tokens, std::int64_t replicas);

/// Makes the drafters of a model's replicas on the host, of which each guesses for one device. If
/// the wishes have a draft model, they share its weights. Owner only.
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
  std::shared_ptr<const HostWeights> weights_;  // of the draft model, once it is loaded
};

}  // namespace weft
