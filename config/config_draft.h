#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/config/file_config.h"
#include "weft/config/keys/config_schema.h"
#include "weft/config/model_draft.h"
#include "weft/core/error/error.h"

namespace weft {

/// Returns the text that a file gives a key, even when the file has other mistakes; empty where the
/// file does not set the key or is not TOML. It is for keys that must be known before errors can be
/// reported.
[[nodiscard]] std::string peek_text(const std::filesystem::path& file, const ConfigKey& key);

/// A FileConfig that is put together from several sources, each overriding the sources before it.
/// It remembers the source of each value. Each value is in its range; only finish() looks at them
/// together, so a flag may correct a file's value. Errors name the source and the key; after an
/// error the draft must not be used.
class ConfigDraft {
 public:
  /// Reads the keys of a file. Errors as of Config::load.
  [[nodiscard]] Result<void> load(const std::filesystem::path& file);
  [[nodiscard]] Result<void> read(std::string_view toml, std::string_view name);
  /// Sets one key; errors call its source `origin` ("--max-rows"). kBadConfig.
  [[nodiscard]] Result<void> set(const ConfigKey& key, const ConfigValue& value,
                                 std::string origin);

  /// Replaces the models.
  void set_models(std::vector<ModelDraft> models) noexcept { models_ = std::move(models); }

  /// The configuration so far, without the models.
  [[nodiscard]] const FileConfig& config() const noexcept { return config_; }
  [[nodiscard]] const std::vector<ModelDraft>& models() const noexcept { return models_; }
  /// Where the key was set, such as "weft.toml:3"; empty for a key with its default.
  [[nodiscard]] std::string_view origin(const ConfigKey& key) const;

  /// Returns the configuration, which is valid. kBadConfig as of Config::validate and
  /// ModelsConfig::validate, after the origin; also where [[models]] exist and a key of a single
  /// model is set: model.path, server.model_name.
  [[nodiscard]] Result<FileConfig> finish() const;

 private:
  [[nodiscard]] Result<ModelsConfig> finish_models() const;

  FileConfig config_;
  std::vector<ModelDraft> models_;
  std::map<std::string, std::string, std::less<>> origins_;  // by the key's path
};

}  // namespace weft
