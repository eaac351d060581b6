#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The modules that a key of adapter_config.json names. The key has either a list of names (each a
/// module's path or the end of its path), or one regular expression for the whole path.
struct ModuleSelection {
  std::vector<std::string> names;
  std::string pattern;
  bool all_linear = false;  ///< all linear layers except the head

  [[nodiscard]] bool empty() const noexcept {
    return names.empty() && pattern.empty() && !all_linear;
  }
};

/// A value for the modules whose path ends with a match of a regular expression.
struct ModulePattern {
  std::string pattern;
  double value = 0;
};

/// The bias tensors in an adapter's file.
enum class AdapterBias : std::uint8_t { kNone, kAll, kLoraOnly };

/// The contents of adapter_config.json (PEFT, LoraConfig). Plain data.
struct AdapterConfig {
  std::string base_model;  ///< base_model_name_or_path; empty: not stated
  std::int64_t rank = 8;
  double alpha = 8;
  bool rank_stabilized = false;  ///< use_rslora: alpha / sqrt(r) instead of alpha / r
  bool dora = false;             ///< use_dora: outputs are scaled to a magnitude
  bool lora_bias = false;        ///< B has a bias
  bool fan_in_fan_out = false;
  AdapterBias bias = AdapterBias::kNone;
  std::vector<ModulePattern> rank_pattern, alpha_pattern;
  ModuleSelection targets, excluded;
  std::optional<std::vector<std::int64_t>> layers;  ///< layers_to_transform
  std::vector<std::string> layers_pattern;
  std::vector<std::string> target_parameters;  ///< names like "mlp.experts.gate_up_proj"
  std::vector<std::string> saved_modules;      ///< modules_to_save
  /// An entry of trainable_token_indices: module name, and the rows of its table that the file
  /// replaces.
  struct Tokens {
    std::string module;
    std::vector<std::int64_t> rows;
  };
  std::vector<Tokens> tokens;
  std::vector<std::string> refused;      ///< keys that Weft cannot compute, with the reason
  std::vector<std::string> passed_over;  ///< unknown keys that change no number
};

/// The greatest rank that is read. Published adapters have ranks of up to 256.
inline constexpr std::int64_t kMaxAdapterRank = 4096;

/// Reads the text of adapter_config.json; `file` is its name in messages. kBadAdapter names a key
/// of the wrong type, a key that occurs twice, or a number out of its range. AdapterConfig::refused
/// lists known keys that are not supported, and unknown keys whose value is neither null, false nor
/// empty. Thread-safe.
[[nodiscard]] Result<AdapterConfig> parse_adapter_config(std::string_view text,
                                                         std::string_view file);

/// Whether the adapter may have a low-rank pair for a module. As in PEFT, target_modules,
/// exclude_modules, layers_to_transform and layers_pattern decide. kBadAdapter for a regular
/// expression that cannot be compiled or backtracks past its bound.
[[nodiscard]] Result<bool> is_adapted(const AdapterConfig& config, std::string_view module);

/// Returns the rank and alpha of a module: from the first pattern that matches the end of its path,
/// else the config's own. Errors as is_adapted().
[[nodiscard]] Result<std::int64_t> rank_of(const AdapterConfig& config, std::string_view module);
[[nodiscard]] Result<double> alpha_of(const AdapterConfig& config, std::string_view module);

/// Returns alpha / r, or alpha / sqrt(r) for a rank-stabilized adapter.
[[nodiscard]] double adapter_scale(double alpha, std::int64_t rank, bool rank_stabilized) noexcept;

/// Whether `path` is `name`, or ends with "." and `name`.
[[nodiscard]] bool ends_with_name(std::string_view path, std::string_view name) noexcept;

}  // namespace weft
