#include "weft/tests/cuda_host/fiber.h"

#include <sanitizer/common_interface_defs.h>

#include <utility>

namespace weft::cuda_host {
namespace {

// Kernels keep up to some hundred numbers in registers, which lie on the stack here, in frames that
// AddressSanitizer makes several times as long.
constexpr std::size_t kStackBytes = std::size_t{256} << 10U;

}  // namespace

Fiber::Fiber() {
  boost::context::protected_fixedsize_stack allocator(kStackBytes);
  stack_ = allocator.allocate();
  inside_ = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(stack_.sp, stack_.size, stack_), allocator,
      [this](boost::context::fiber&& outside) -> boost::context::fiber {
        __sanitizer_finish_switch_fiber(nullptr, &outside_bottom_, &outside_bytes_);
        outside_ = std::move(outside);
        loop();
      });
}

void Fiber::loop() {
  while (true) {
    run_();
    suspend();
  }
}

void Fiber::resume() {
  void* own = nullptr;
  __sanitizer_start_switch_fiber(&own, static_cast<const std::byte*>(stack_.sp) - stack_.size,
                                 stack_.size);
  inside_ = std::move(inside_).resume();
  __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
}

void Fiber::suspend() {
  void* own = nullptr;
  __sanitizer_start_switch_fiber(&own, outside_bottom_, outside_bytes_);
  outside_ = std::move(outside_).resume();
  __sanitizer_finish_switch_fiber(own, &outside_bottom_, &outside_bytes_);
}

}  // namespace weft::cuda_host
