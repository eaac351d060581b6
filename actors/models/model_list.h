#pragma once

#include <cstdint>
#include <memory>
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
};

/// The models of an engine at one moment, at least one. Requests without a model's name get the
/// first. Immutable.
struct ModelList {
  std::vector<ModelInfo> models{};
  /// Whether a request for an unloaded model loads it (ModelsConfig::max_loaded).
  bool loads_on_demand = false;

  /// Returns the model of this name or alias, for "" the first model; null if there is none.
  [[nodiscard]] const ModelInfo* find(std::string_view name) const noexcept;
};

}  // namespace weft
