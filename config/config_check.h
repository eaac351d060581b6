#pragma once

#include <optional>
#include <string>

#include "weft/config/config_schema.h"

namespace weft {

/// A value that will not do.
struct ConfigMistake {
  const ConfigKey* key;   ///< of the schema
  std::string complaint;  ///< "513: must be at most 512"
};

/// The first value that is out of its range, or that does not go with another.
[[nodiscard]] std::optional<ConfigMistake> find_mistake(const Config& config);

}  // namespace weft
