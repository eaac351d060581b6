#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/config/keys/config_schema.h"
#include "weft/config/models_config.h"
#include "weft/config/toml_text.h"
#include "weft/core/error/error.h"

namespace weft {

/// A key of an engine that a model sets for itself.
struct ModelSetting {
  const ConfigKey* key = nullptr;  ///< one of engine_schema()
  ConfigValue value{};
  std::string origin{};  ///< the place where it is set, such as "weft.toml:12"

  /// As it is written in the model's table: "path", "memory.max_rows".
  [[nodiscard]] std::string path() const;
};

/// A [[models]] table of a file: its own keys, and the file's keys that it overrides.
struct ModelDraft {
  std::string origin{};  ///< the place where the table begins
  ModelConfig own{};     ///< all but the member `config`
  std::vector<ModelSetting> settings{};

  /// Returns the model's configuration, with the keys of `file` that it does not override.
  /// kBadConfig as of ConfigDraft::finish.
  [[nodiscard]] Result<ModelConfig> finish(const FileConfig& file) const;
};

/// The keys of a model's table that are not keys of an engine.
inline constexpr std::string_view kModelKeys = "name, aliases, load, share";

/// Returns the value that a file gives the setting; std::monostate for types that no key takes.
[[nodiscard]] ConfigValue config_value_of(const Setting& setting, const toml::node& node);

/// Reads the value of `models`, a list of tables. kUnknownConfigKey and kBadConfig name file, line
/// and key.
[[nodiscard]] Result<std::vector<ModelDraft>> read_models(const toml::node& node,
                                                          std::string_view file);

/// Checks models against each other, and their own keys. kBadConfig, which names a model as
/// `places` does.
[[nodiscard]] Result<void> check_models(const std::vector<ModelConfig>& models,
                                        const std::vector<std::string>& places);

}  // namespace weft
