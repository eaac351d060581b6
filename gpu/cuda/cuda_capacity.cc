#include "weft/gpu/cuda/cuda_capacity.h"

#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/failure.h"
#include "weft/gpu/step_options.h"
#include "weft/kernels/linear/linear_cuda.h"

namespace weft::cuda {

DeviceNeeds cuda_needs(const Program& program, const CapacityWishes& wishes,
                       const Properties& properties) {
  const auto options = [&program, kv_dtype = wishes.kv_dtype](const DeviceLimits& limits) {
    return step_options(program, limits, kv_dtype);
  };
  const bool on_host = wishes.kv_host_bytes > 0;
  DeviceNeeds needs;
  needs.weight_bytes = program.weight_bytes();
  needs.chooses_at_once = true;
  needs.computes_adapters = true;
  needs.bytes = [&program, options, properties](const DeviceLimits& limits) {
    return CudaDevice::memory_bytes(program, options(limits), properties) +
           static_cast<std::int64_t>(kLinearEngineBytes);
  };
  DeviceLimits one;
  one.page_tokens = wishes.page_tokens;
  const std::int64_t page = page_bytes(program, options(one));
  // A page also takes an entry in the list of copies.
  needs.page_bytes = (on_host ? 0 : page) + static_cast<std::int64_t>(sizeof(PageCopy));
  if (!on_host) return needs;
  needs.host_page_bytes = page;
  needs.host_bytes = [&program, options, properties](const DeviceLimits& limits) {
    return CudaDevice::host_bytes(program, options(limits), properties);
  };
  return needs;
}

Result<std::int64_t> free_memory(Runtime& runtime) {
  std::size_t bytes = 0;
  try {
    check(runtime, runtime.use(), "choosing the GPU");
    check(runtime, runtime.free_memory(bytes), "asking for free memory");
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return static_cast<std::int64_t>(bytes);
}

Result<DeviceLimits> cuda_capacity(const Program& program, const CapacityWishes& wishes,
                                   std::int64_t free_bytes, const Properties& properties) {
  return device_capacity(program, wishes, free_bytes, cuda_needs(program, wishes, properties));
}

}  // namespace weft::cuda
