#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/config/keys/config_schema.h"
#include "weft/config/models_config.h"
#include "weft/config/toml_text.h"
#include "weft/core/error/error.h"

namespace weft {

/// A key of an engine that a model states for itself.
struct ModelSetting {
  const ConfigKey* key = nullptr;  ///< of engine_schema()
  ConfigValue value{};
  std::string origin{};  ///< where, such as "weft.toml:12"

  /// As it is written in the model's table: "path", "memory.max_rows".
  [[nodiscard]] std::string path() const;
};

/// A [[models]] table of a file: its own keys, and those of the file that are different for it.
struct ModelDraft {
  std::string origin{};  ///< where it begins
  ModelConfig own{};     ///< but for `config`
  std::vector<ModelSetting> settings{};

  /// Returns the model's configuration in a file that has `file` for all of its models. kBadConfig
  /// as of ConfigDraft::finish.
  [[nodiscard]] Result<ModelConfig> finish(const FileConfig& file) const;
};

/// The keys of a model's table that are no engine's.
inline constexpr std::string_view kModelKeys = "name, aliases, load, share";

/// Returns the value of a key; std::monostate for what no key takes.
[[nodiscard]] ConfigValue config_value_of(const toml::node& node);

/// Reads the value of `models`, a list of tables. kUnknownConfigKey and kBadConfig name file, line
/// and key.
[[nodiscard]] Result<std::vector<ModelDraft>> read_models(const toml::node& node,
                                                          std::string_view file);

/// What is wrong with models beside each other, or with their own keys. kBadConfig, which names a
/// model as `places` does.
[[nodiscard]] Result<void> check_models(const std::vector<ModelConfig>& models,
                                        const std::vector<std::string>& places);

}  // namespace weft
