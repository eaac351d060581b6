#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/device_capacity.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

/// Which device is to run a model, and what it may take.
struct DeviceWishes {
  std::string device = "cpu";     ///< as list_devices() names it
  int threads = 0;                ///< of the host device, or of who loads weights; 0: all
  std::int32_t instances = 1;     ///< devices that share the weights; the host alone has several
  std::optional<DType> kv_dtype;  ///< without: kv_dtype_for()
  std::string tuning{};           ///< a file of `weft tune`; empty: see cuda::find_tuning
  CapacityWishes capacity{};      ///< its kv_dtype is not looked at
};

/// What keys and values are kept as where nobody says: f32 on the host; on a GPU the type of the
/// weights where that has 16 bits.
[[nodiscard]] DType kv_dtype_for(const std::string& device, const Program& program);

struct StepDevices {
  DeviceLimits limits;  ///< of each
  std::vector<std::shared_ptr<StepDevice>> devices;
};

/// Measures the device, takes its memory and loads the model. kNoSuchDevice, kOutOfMemory, kDriver.
[[nodiscard]] Result<StepDevices> load_step_devices(const OpenedModel& model,
                                                    const DeviceWishes& wishes,
                                                    const std::vector<TokenId>& end_tokens,
                                                    const LoadProgress& progress = {});

/// A device that a SequenceRunner uses, alone, with the tuning that is built in.
[[nodiscard]] Result<std::unique_ptr<ModelDevice>> load_model_device(
    const OpenedModel& model, const std::string& device, const DeviceOptions& options,
    const LoadProgress& progress = {});

}  // namespace weft
