#pragma once

#include <memory>
#include <string>

#include "weft/cli/config_options.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/net/client/connector.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// The source of answers: a server, or a model in this process.
struct BackendOptions {
  std::string place;    ///< URL|MODEL
  std::string api_key;  ///< the key that is sent to a server; empty: WEFT_API_KEY
  bool insecure = false;
  std::string model;  ///< one of a server's models; empty: the server's own, or the models that the
                      ///< requests name
  std::unique_ptr<ConfigOptions> engine{};  ///< how a model in this process runs

  [[nodiscard]] bool remote() const;
};

/// Adds URL|MODEL and the options. `options` must live as long as `command`.
void add_backend_options(CLI::App& command, BackendOptions& options);

/// Options for the server that BackendOptions::place names. Errors: kBadUrl.
[[nodiscard]] Result<ClientOptions> client_options(const BackendOptions& options);
/// The engine's configuration from file, environment and flags, as weft serve reads it. Errors: of
/// ConfigDraft.
[[nodiscard]] Result<Config> engine_config(const BackendOptions& options);

}  // namespace weft::cli
