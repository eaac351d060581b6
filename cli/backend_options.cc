#include "weft/cli/backend_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "weft/net/client/server_url.h"

namespace weft::cli {
namespace {

constexpr int kMaxThreads = 1024;

}  // namespace

bool BackendOptions::remote() const { return is_server_url(place); }

void add_backend_options(CLI::App& command, BackendOptions& options) {
  command
      .add_option("URL|MODEL", options.place,
                  "A server (http://, https://, ws://, wss://), or a model to run in this process")
      ->required();
  command.add_option("--api-key", options.api_key, "What the server knows you by")
      ->envname("WEFT_API_KEY");
  command.add_flag("--insecure", options.insecure, "Take any certificate of the server's");
  command.add_option("--model", options.model, "Which of the server's models")->type_name("NAME");
  command.add_option("--config", options.config, "For MODEL: a TOML file; docs/configuration.md")
      ->type_name("FILE");
  command.add_option("--threads", options.threads, "For MODEL: threads; 0 = one for each core")
      ->check(CLI::Range(0, kMaxThreads));
}

Result<ClientOptions> client_options(const BackendOptions& options) {
  auto url = parse_server_url(options.place);
  if (!url) return std::move(url).error();
  return ClientOptions{
      .url = *std::move(url), .api_key = options.api_key, .verify_certificate = !options.insecure};
}

Result<Config> engine_config(const BackendOptions& options) {
  Config config;
  if (!options.config.empty()) {
    auto loaded = Config::load(options.config);
    if (!loaded) return std::move(loaded).error();
    config = *std::move(loaded);
  }
  config.model = options.place;
  if (options.threads > 0) config.threads = options.threads;
  return config;
}

}  // namespace weft::cli
