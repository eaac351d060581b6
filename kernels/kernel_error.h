#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// What can go wrong when weights are made ready for the ops.
enum class KernelErrc {
  /// No op multiplies by a weight of that type or size; the detail says which.
  kUnsupportedWeight = 1,
  /// The system gave no memory; the detail says how much was asked for.
  kNoMemory,
};

[[nodiscard]] const TableCategory& kernel_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(KernelErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::KernelErrc> : std::true_type {};
