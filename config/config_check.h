#pragma once

#include <string>
#include <vector>

#include "weft/config/config_schema.h"

namespace weft {

/// A value that will not do.
struct ConfigMistake {
  const ConfigKey* key;   ///< of the schema
  std::string complaint;  ///< "513: must be at most 512"
};

/// The first value that is out of its range, or that does not go with others: then once for each of
/// them that could be another, and the reader blames one that somebody has set. Empty: none.
[[nodiscard]] std::vector<ConfigMistake> find_mistake(const FileConfig& config);

}  // namespace weft
