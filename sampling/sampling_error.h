#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// Reasons to refuse sampling parameters.
enum class SamplingErrc {
  /// A number is NaN or outside its range; the detail names the parameter, value and range.
  kParameterOutOfRange = 1,
  /// A list has too many entries; the detail names the list, its number of entries and the limit.
  kListTooLong,
  /// A list names a token that the vocabulary does not have; the detail names the list and the id.
  kTokenNotInVocabulary,
  /// Two parameters exclude each other; the detail names both.
  kParametersConflict,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& sampling_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(SamplingErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::SamplingErrc> : std::true_type {};
