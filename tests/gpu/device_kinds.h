#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "weft/gpu/model_device.h"
#include "weft/gpu/step_device.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft::test {

/// A kind of device: each test of devices runs on all kinds that are here.
struct DeviceKind {
  std::string name;
  std::function<std::unique_ptr<ModelDevice>(const std::shared_ptr<const Checkpoint>&,
                                             const std::shared_ptr<const Program>&,
                                             const DeviceOptions&)>
      load;
  /// Makes a device with keys and values in float32.
  std::function<std::unique_ptr<StepDevice>(const std::shared_ptr<const Checkpoint>&,
                                            const std::shared_ptr<const Program>&,
                                            const DeviceLimits&)>
      load_steps;
};

[[nodiscard]] DeviceKind host_kind(int threads = 1);

/// The GPUs' device over naive loops in the host's memory.
[[nodiscard]] DeviceKind fake_gpu_kind();

/// The first GPU; where there is none, WEFT_SKIP_WITHOUT_GPU skips the test.
[[nodiscard]] DeviceKind gpu_kind();
[[nodiscard]] bool has_gpu();

[[nodiscard]] inline std::vector<DeviceKind> device_kinds() {
  return {host_kind(), fake_gpu_kind(), gpu_kind()};
}

inline std::string kind_name(const testing::TestParamInfo<DeviceKind>& info) {
  return info.param.name;
}

inline std::ostream& operator<<(std::ostream& out, const DeviceKind& kind) {
  return out << kind.name;
}

}  // namespace weft::test

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): it returns from the test
#define WEFT_SKIP_WITHOUT_GPU(kind)                     \
  if ((kind).name == "gpu" && !weft::test::has_gpu()) { \
    GTEST_SKIP() << "no GPU is here";                   \
  }                                                     \
  static_assert(true)
