#include "weft/gpu/model_device.h"

#include <boost/system/system_error.hpp>
#include <cstddef>
#include <span>

#include "weft/gpu/device_error.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft {

Result<std::vector<float>> vector_values(const VectorPlan& plan) {
  if (plan.parts.empty() && !plan.values.empty()) return plan.values;
  std::vector<float> values(static_cast<std::size_t>(plan.size), 0.0F);
  for (const VectorPart& part : plan.parts) {
    const auto place = std::span(values).subspan(static_cast<std::size_t>(part.first),
                                                 static_cast<std::size_t>(part.count));
    const auto read = read_values(*part.tensor, part.offset, part.stride, place);
    if (!read) return read.error();
  }
  return values;
}

Result<PreparedAdapter> ModelDevice::prepare_adapter(const Adapter& /*adapter*/) const {
  return Error{DeviceErrc::kUnfit, "this device computes no adapters"};
}

void ModelDevice::place_adapter(std::int32_t /*place*/, const PreparedAdapter& /*adapter*/) {
  throw boost::system::system_error(DeviceErrc::kUnfit, "this device has no places for adapters");
}

}  // namespace weft
