#pragma once

#include "weft/config/config.h"
#include "weft/config/models_config.h"
#include "weft/config/server_config.h"

namespace weft {

/// All that a configuration file, the environment and the flags of `weft serve` can set: the
/// engine, and the server in front of it. An application that embeds the engine uses the first
/// alone.
struct FileConfig {
  Config engine{};
  ServerConfig server{};
  /// Those of [[models]], each with what `engine` says that it does not say itself; empty without
  /// any: `engine` is the one model then.
  ModelsConfig models{};
};

}  // namespace weft
