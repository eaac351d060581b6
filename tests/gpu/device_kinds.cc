#include "weft/tests/gpu/device_kinds.h"

#include <utility>

#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/step_options.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::test {
namespace {

using MakeRuntime = std::function<std::unique_ptr<cuda::Runtime>()>;

DeviceKind kind_of(std::string name, const MakeRuntime& make_runtime) {
  DeviceKind kind;
  kind.name = std::move(name);
  const auto load = [make_runtime](const auto& checkpoint, const auto& program,
                                   DeviceOptions options) {
    options.threads = 1;
    return cuda::CudaDevice::load(make_runtime(), checkpoint, program, options, {}).value();
  };
  kind.load = load;
  kind.load_steps = [load](const auto& checkpoint, const auto& program,
                           const DeviceLimits& limits) {
    const auto options = step_options(*program, limits, DType::kF32);
    return cuda::CudaStepDevice::make(load(checkpoint, program, options), limits, {}).value();
  };
  return kind;
}

}  // namespace

DeviceKind host_kind(int threads) {
  DeviceKind kind;
  kind.name = "host";
  kind.load = [threads](const auto& checkpoint, const auto& program, DeviceOptions options) {
    options.threads = threads;
    options.always_all_threads = true;
    return HostDevice::load(checkpoint, program, options).value();
  };
  kind.load_steps = [threads](const auto& checkpoint, const auto& program,
                              const DeviceLimits& limits) {
    auto options = step_options(*program, limits, DType::kF32, threads);
    options.always_all_threads = true;
    return std::make_unique<HostStepDevice>(HostDevice::load(checkpoint, program, options).value(),
                                            limits, std::vector<TokenId>{});
  };
  return kind;
}

DeviceKind fake_gpu_kind() {
  return kind_of("fake_gpu",
                 [] { return std::make_unique<FakeRuntime>(std::make_shared<FakeGpu>()); });
}

DeviceKind gpu_kind() {
  return kind_of("gpu", [] { return cuda::open_runtime(0).value(); });
}

bool has_gpu() {
  const auto devices = cuda::list_devices();
  return devices && !devices->empty();
}

}  // namespace weft::test
