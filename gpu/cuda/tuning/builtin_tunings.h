#pragma once

#include <span>
#include <string_view>

namespace weft::cuda {

/// The text of one file of config/tuning.
struct BuiltinTuning {
  std::string_view name;  ///< the file's name
  std::string_view text;
};

/// Returns all files of config/tuning, sorted by name, with their content when Weft was built.
[[nodiscard]] std::span<const BuiltinTuning> builtin_tunings() noexcept;

}  // namespace weft::cuda
