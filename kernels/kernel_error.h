#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// Errors of packing weights for the ops.
enum class KernelErrc {
  /// No op multiplies by a weight of this type or size; the detail names it.
  kUnsupportedWeight = 1,
  /// An allocation failed; the detail says how many bytes were asked for.
  kNoMemory,
};

[[nodiscard]] const TableCategory& kernel_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(KernelErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::KernelErrc> : std::true_type {};
