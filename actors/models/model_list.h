#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/core/error/error.h"

namespace weft {

/// Where a model of an engine is.
enum class ModelState : std::uint8_t {
  kUnloaded,   ///< not in memory
  kLoading,    ///< it will be loaded, or fail
  kLoaded,     ///< it takes requests
  kUnloading,  ///< it takes none, and leaves when those that it has are done
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
  std::int64_t created = 0;  ///< seconds since 1970 when it was loaded; 0: it was not yet
  /// What is known of it; null where it is not in memory.
  std::shared_ptr<const ServedModel> model{};
};

/// The models of an engine at one moment, at least one. The first is that of requests which name
/// none. Immutable.
struct ModelList {
  std::vector<ModelInfo> models{};
  /// Whether a request for a model that is not loaded has it loaded (ModelsConfig::max_loaded).
  bool loads_on_demand = false;

  /// Returns the model of this name or alias, the first one for ""; null when there is none.
  [[nodiscard]] const ModelInfo* find(std::string_view name) const noexcept;
};

}  // namespace weft
