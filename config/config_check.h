#pragma once

#include <string>
#include <vector>

#include "weft/config/keys/config_schema.h"

namespace weft {

/// A value that is not valid.
struct ConfigMistake {
  const ConfigKey* key;   ///< one of the schema
  std::string complaint;  ///< "513: must be at most 512"
};

/// Finds the first value that is out of its range, or that conflicts with others. In the latter
/// case there is an entry for each key that could be changed, and the reader blames a key that
/// somebody has set. Empty when all values are valid.
[[nodiscard]] std::vector<ConfigMistake> find_mistake(const FileConfig& config);

}  // namespace weft
