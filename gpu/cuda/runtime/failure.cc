#include "weft/gpu/cuda/runtime/failure.h"

#include "weft/gpu/device_info.h"

namespace weft::cuda {

void check(const Runtime& runtime, Status status, const char* what) {
  if (status == Status::kSuccess) return;
  throw Failure(status, std::string(what) + ": " + runtime.describe(status));
}

Error error_of(const Failure& failure) {
  const bool memory = failure.status() == kOutOfMemory;
  return {memory ? DeviceErrc::kOutOfMemory : DeviceErrc::kDriver, failure.what()};
}

}  // namespace weft::cuda
