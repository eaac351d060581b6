#pragma once

#include <cstdlib>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "weft/config/config_draft.h"
#include "weft/config/keys/config_schema.h"
#include "weft/core/error/error.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's names
class App;
class Option;
}  // namespace CLI

namespace weft::cli {

/// A verb's configuration: MODEL, --config FILE and a flag for each key, grouped by table. A flag
/// wins over the environment, the environment over the file, the file over the defaults.
class ConfigOptions {
 public:
  /// Returns the value of an environment variable; null when there is none.
  using Environment = std::function<const char*(const char* name)>;

  /// Adds the options to `command`; the object must live as long as `command` is used. `keys` are
  /// of the schema.
  ConfigOptions(CLI::App& command, std::span<const ConfigKey> keys);
  ConfigOptions(const ConfigOptions&) = delete;
  ConfigOptions& operator=(const ConfigOptions&) = delete;
  ~ConfigOptions() = default;

  /// Returns the configuration of file, environment and the parsed command line. Errors are those
  /// of ConfigDraft; they name the file and line, the variable or the flag.
  [[nodiscard]] Result<ConfigDraft> draft(const Environment& environment = std::getenv) const;

  /// Returns the text that the same sources give one key, even where other keys are wrong; empty
  /// where no source gives it one.
  [[nodiscard]] std::string peek(std::string_view path,
                                 const Environment& environment = std::getenv) const;

 private:
  /// A flag on the command line and the value that it was given.
  struct Flag {
    const ConfigKey* key;
    CLI::Option* option;
    std::string text;
  };

  void add_value(CLI::App& command, const ConfigKey& key);
  void add_switch(CLI::App& command, const ConfigKey& key);
  [[nodiscard]] std::string file_path(const Environment& environment) const;
  [[nodiscard]] Result<void> load_file(const Environment& environment, ConfigDraft& draft) const;

  std::span<const ConfigKey> keys_;
  std::deque<Flag> flags_;  // a deque, since CLI11 keeps references to the texts
  CLI::Option* file_option_;
  std::string file_;
};

}  // namespace weft::cli
