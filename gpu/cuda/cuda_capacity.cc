#include "weft/gpu/cuda/cuda_capacity.h"

#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/step_options.h"
#include "weft/kernels/linear/linear_cuda.h"

namespace weft::cuda {

Result<DeviceLimits> cuda_capacity(const Program& program, const CapacityWishes& wishes,
                                   std::int64_t free_bytes, const Properties& properties) {
  const auto options = [&](const DeviceLimits& limits) {
    return step_options(program, limits, wishes.kv_dtype);
  };
  DeviceNeeds needs;
  needs.bytes = [&](const DeviceLimits& limits) {
    return CudaDevice::memory_bytes(program, options(limits), properties) +
           static_cast<std::int64_t>(kLinearEngineBytes);
  };
  DeviceLimits one;
  one.page_tokens = wishes.page_tokens;
  // A page also takes an entry in the list of copies.
  needs.page_bytes =
      page_bytes(program, options(one)) + static_cast<std::int64_t>(sizeof(PageCopy));
  return device_capacity(program, wishes, free_bytes, needs);
}

}  // namespace weft::cuda
