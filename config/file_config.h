#pragma once

#include "weft/config/config.h"
#include "weft/config/models_config.h"
#include "weft/config/server_config.h"

namespace weft {

/// All settings of a configuration file, the environment and the flags of `weft serve`: the engine,
/// and the server in front of it. An application that embeds the engine uses the engine's settings
/// alone.
struct FileConfig {
  Config engine{};
  ServerConfig server{};
  /// The models of [[models]], each with `engine` for keys that it does not set itself; empty
  /// without [[models]]: `engine` is the one model then.
  ModelsConfig models{};
};

}  // namespace weft
