#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// The mistakes of an operator's configuration.
enum class ConfigErrc {
  /// A file is not TOML, or is larger or nested deeper than any configuration; the detail has file
  /// and line.
  kBadToml = 1,
  /// An unknown key or table; the detail has the nearest known one.
  kUnknownConfigKey,
  /// A value of the wrong type or out of its range; the detail has key, value and range.
  kBadConfig,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& config_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(ConfigErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::ConfigErrc> : std::true_type {};
