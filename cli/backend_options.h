#pragma once

#include <string>

#include "weft/config/config.h"
#include "weft/core/error.h"
#include "weft/net/client/connector.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// Who answers: a server or a model in this process.
struct BackendOptions {
  std::string place;    ///< URL|MODEL
  std::string api_key;  ///< of a server; WEFT_API_KEY when empty
  bool insecure = false;
  std::string model;   ///< what to ask a server for; empty: what it has, or what the requests say
  std::string config;  ///< a TOML file, for a model in this process
  int threads = 0;

  [[nodiscard]] bool remote() const;
};

/// Adds URL|MODEL and the options.
void add_backend_options(CLI::App& command, BackendOptions& options);

/// kBadUrl.
[[nodiscard]] Result<ClientOptions> client_options(const BackendOptions& options);
/// Of Config::load().
[[nodiscard]] Result<Config> engine_config(const BackendOptions& options);

}  // namespace weft::cli
