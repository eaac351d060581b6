#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/core/error/error.h"

namespace weft {

/// The state of a model of an engine.
enum class ModelState : std::uint8_t {
  kUnloaded,   ///< not in memory
  kLoading,    ///< it will be loaded, or fail
  kLoaded,     ///< it takes requests
  kUnloading,  ///< it finishes its requests and takes no more
  kFailed,     ///< it could not be loaded, or was lost
};
/// Returns "unloaded", "loading", "loaded", "unloading" or "failed".
[[nodiscard]] std::string_view to_string(ModelState state) noexcept;

/// A model of an engine at one moment.
struct ModelInfo {
  std::string name{};
  std::vector<std::string> aliases{};
  ModelState state = ModelState::kLoaded;
  Error failure{};           ///< with kFailed: why
  std::int64_t created = 0;  ///< seconds since 1970 when it was loaded; 0: never
  /// The model; null if it is not in memory.
  std::shared_ptr<const ServedModel> model{};
  /// The names of a model's configured adapters (Config::adapters), while it is not in memory.
  std::vector<std::string> adapters{};
  /// Of the entry of an adapter: its name, and the model that it changes, which `model` and `state`
  /// are of. `name` is the adapter's then.
  std::string adapter{};
  std::string parent{};

  /// The name of the model, also of an adapter's entry.
  [[nodiscard]] const std::string& base() const noexcept { return parent.empty() ? name : parent; }
};

/// The models of an engine at one moment, at least one. Requests without a model's name get the
/// first. Immutable.
struct ModelList {
  std::vector<ModelInfo> models{};
  /// Whether a request for an unloaded model loads it (ModelsConfig::max_loaded).
  bool loads_on_demand = false;

  /// Returns the model of this name or alias, for "" the first model; null if there is none.
  [[nodiscard]] const ModelInfo* find(std::string_view name) const noexcept;
  /// Returns what requests can call so: a model, or an adapter of a model by its name or by
  /// "MODEL:NAME". A model's name goes before an adapter's, and an earlier model's adapter before
  /// others of its name. Looks into folders of adapters for a name that is not known. Nothing where
  /// there is none.
  [[nodiscard]] std::optional<ModelInfo> named(std::string_view name) const;
  /// Returns the models, each followed by the entries of its known adapters.
  [[nodiscard]] std::vector<ModelInfo> with_adapters() const;
};

}  // namespace weft
