#include "weft/gpu/device_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kDeviceErrors = {
    ErrorText{static_cast<int>(DeviceErrc::kNoGpuSupport), "no_gpu_support",
              "this build of weft has no code for GPUs"},
    ErrorText{static_cast<int>(DeviceErrc::kNoSuchDevice), "no_such_device",
              "there is no device of that name"},
    ErrorText{static_cast<int>(DeviceErrc::kDriver), "driver_error",
              "the device's driver reported an error"},
    ErrorText{static_cast<int>(DeviceErrc::kOutOfMemory), "out_of_memory",
              "there is not enough memory"},
    ErrorText{static_cast<int>(DeviceErrc::kOutOfRange), "out_of_range",
              "this is outside what the model knows"},
    ErrorText{static_cast<int>(DeviceErrc::kUnfit), "unfit_device", "this cannot be done here"},
    ErrorText{static_cast<int>(DeviceErrc::kBadTuning), "bad_tuning",
              "this is no table of weft tune"},
    ErrorText{static_cast<int>(DeviceErrc::kRankLost), "rank_lost",
              "another process of the model is gone"},
};

constexpr TableCategory kDeviceCategory(0x2b9e84d1c07f35a6, "weft.device", kDeviceErrors);

}  // namespace

const TableCategory& device_category() noexcept { return kDeviceCategory; }

boost::system::error_code make_error_code(DeviceErrc code) noexcept {
  return {static_cast<int>(code), device_category()};
}

}  // namespace weft
