#pragma once

#include "weft/config/config.h"
#include "weft/config/server_config.h"

namespace weft {

/// All that a configuration file, the environment and the flags of `weft serve` can say: what the
/// engine is made of, and what the server in front of it is. An application that embeds the engine
/// knows the first alone.
struct FileConfig {
  Config engine{};
  ServerConfig server{};
};

}  // namespace weft
