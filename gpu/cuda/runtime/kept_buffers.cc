#include "weft/gpu/cuda/runtime/kept_buffers.h"

namespace weft::cuda {

Status KeptBuffers::take(std::byte*& memory) {
  memory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
      memory = kept_.back();
      kept_.pop_back();
      return Status::kSuccess;
    }
    kept_.reserve(++all_);
  }
  // Other threads may give buffers back meanwhile.
  return allocate_(memory);
}

void KeptBuffers::give_back(std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  kept_.push_back(memory);
}

}  // namespace weft::cuda
