#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "weft/config/config_schema.h"
#include "weft/config/file_config.h"
#include "weft/core/error/error.h"

namespace weft {

/// A FileConfig that is put together of several sources, each over those before it, and remembers
/// which gave what. Each value is in its range; only finish() looks at them together, so a flag may
/// mend what a file has. Errors name the source and the key; after one the draft is of no more use.
class ConfigDraft {
 public:
  /// The keys of a file. Errors as of Config::load.
  [[nodiscard]] Result<void> load(const std::filesystem::path& file);
  [[nodiscard]] Result<void> read(std::string_view toml, std::string_view name);
  /// One key; `origin` is what errors call where it stands ("--max-rows"). kBadConfig.
  [[nodiscard]] Result<void> set(const ConfigKey& key, const ConfigValue& value,
                                 std::string origin);

  [[nodiscard]] const FileConfig& config() const noexcept { return config_; }
  /// "weft.toml:3"; empty for a key that has its default from nobody.
  [[nodiscard]] std::string_view origin(const ConfigKey& key) const;

  /// What it has come to, valid. kBadConfig as of Config::validate, behind the origin.
  [[nodiscard]] Result<FileConfig> finish() const;

 private:
  FileConfig config_;
  std::map<std::string, std::string, std::less<>> origins_;  // by the key's path
};

}  // namespace weft
