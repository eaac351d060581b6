#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"

namespace weft {

/// One of several models of an engine.
struct ModelConfig {
  ModelConfig() = default;  // no aggregate: docs/asio-compliance.md says why

  std::string name{};                  ///< the name in requests
  std::vector<std::string> aliases{};  ///< further names of the model
  bool load = true;                    ///< whether to load it when the engine starts, and not only
                                       ///< when a request asks for it
  double share = 1;                    ///< share of a device's time, among the models on the same
                                       ///< device
  /// Whether `config` sets the model's part of the device's memory; without it, each model of the
  /// device has an equal part.
  bool has_memory = false;
  Config config{};
};

/// The configuration of an engine with one model or several. Plain data; validate() checks it.
struct ModelsConfig {
  ModelsConfig() = default;  // no aggregate: docs/asio-compliance.md says why

  static constexpr std::size_t kMaxModels = 64;      ///< more than a machine's devices hold
  static constexpr std::size_t kMaxAliases = 16;     ///< per model
  static constexpr std::size_t kMaxNameBytes = 128;  ///< longer than any name on a hub

  std::vector<ModelConfig> models{};  ///< requests without a model's name get the first
  /// Models that are in memory at once; another model is loaded when a request asks for it, and
  /// replaces the idle model that was used least recently. 0: all loaded models stay, and no
  /// request loads a model.
  std::int32_t max_loaded = 0;
  /// The memory that the models of a shared device may take together: memory_fraction and
  /// memory_bytes of the whole file.
  double memory_fraction = 0.8;
  std::int64_t memory_bytes = 0;

  /// One model, as `config` says, which shares its device with no other model.
  [[nodiscard]] static ModelsConfig of(const Config& config, std::string name);

  /// Reads a file as Config::load does, with its [[models]]; without any, its one model is called
  /// "default". The result is valid. Errors as of Config::load.
  [[nodiscard]] static Result<ModelsConfig> load(const std::filesystem::path& file);
  [[nodiscard]] static Result<ModelsConfig> parse(std::string_view toml, std::string_view name);

  /// kBadConfig names the model and its key: no models or too many, a name that is missing, too
  /// long or another's too, a share outside kLowestShare .. kHighestShare, max_loaded < 0, and what
  /// Config::validate() finds.
  [[nodiscard]] Result<void> validate() const;

  static constexpr double kLowestShare = 0.001;
  static constexpr double kHighestShare = 1'000;
};

}  // namespace weft
