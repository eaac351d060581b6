#include "weft/gpu/step_device.h"

#include "weft/gpu/device_error.h"

namespace weft {

Result<std::shared_ptr<const DeviceAdapter>> StepDevice::prepare_adapter(
    const Adapter& /*adapter*/) const {
  return Error{DeviceErrc::kUnfit, "this device computes no adapters"};
}

}  // namespace weft
