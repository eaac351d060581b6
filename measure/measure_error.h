#pragma once

#include <boost/system/error_code.hpp>
#include <type_traits>

#include "weft/core/error/error.h"

namespace weft::measure {

/// The mistakes in a request for a measurement.
enum class MeasureErrc {
  /// A load is not valid; the detail names the flag or the value.
  kBadLoad = 1,
  /// There are too few threads, or too little memory, for an engine; the detail says which.
  kNoEngine,
  /// A trace violates its format; the detail names file and line.
  kBadTrace,
  /// Such steps cannot be measured; the detail names the flag, the model or the token.
  kBadSteps,
};

[[nodiscard]] const TableCategory& measure_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(MeasureErrc code) noexcept;

}  // namespace weft::measure

template <>
struct boost::system::is_error_code_enum<weft::measure::MeasureErrc> : std::true_type {};
