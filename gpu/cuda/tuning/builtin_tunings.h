#pragma once

#include <span>
#include <string_view>

namespace weft::cuda {

/// The text of one file of config/tuning.
struct BuiltinTuning {
  std::string_view name;  ///< of the file
  std::string_view text;
};

/// Every file of config/tuning, by name, as it was when Weft was built.
[[nodiscard]] std::span<const BuiltinTuning> builtin_tunings() noexcept;

}  // namespace weft::cuda
