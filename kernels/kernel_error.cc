#include "weft/kernels/kernel_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kKernelErrors = {
    ErrorText{static_cast<int>(KernelErrc::kUnsupportedWeight), "unsupported_weight",
              "no op multiplies by a weight of this type or size"},
    ErrorText{static_cast<int>(KernelErrc::kNoMemory), "no_memory",
              "there is not enough memory for the weights"},
};

constexpr TableCategory kKernelCategory(0x71c3f09e5ad8246b, "weft.kernel", kKernelErrors);

}  // namespace

const TableCategory& kernel_category() noexcept { return kKernelCategory; }

boost::system::error_code make_error_code(KernelErrc code) noexcept {
  return {static_cast<int>(code), kernel_category()};
}

}  // namespace weft
