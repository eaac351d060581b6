#include "weft/cli/backend_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>
#include <utility>

#include "weft/net/client/server_url.h"

namespace weft::cli {
bool BackendOptions::remote() const {
  std::error_code ignored;
  if (is_server_url(place)) return true;
  return is_server_address(place) && !std::filesystem::exists(place, ignored);
}

void add_backend_options(CLI::App& command, BackendOptions& options) {
  command
      .add_option("URL|MODEL", options.place,
                  "A server (http://, https://, ws://, wss://, HOST:PORT), or a model to run in "
                  "this process")
      ->required();
  command.add_option("--api-key", options.api_key, "What the server knows you by")
      ->envname("WEFT_API_KEY");
  command.add_flag("--insecure", options.insecure, "Take any certificate of the server's");
  command.add_option("--model", options.model, "Which of the server's models, or an adapter")
      ->type_name("NAME");
  // The engine's keys without model.path: URL|MODEL gives the path here, and --model, the flag of
  // that key, names a server's model.
  options.engine = std::make_unique<ConfigOptions>(command, engine_schema().subspan(1));
}

Result<ClientOptions> client_options(const BackendOptions& options) {
  auto url = parse_server_url(options.place);
  if (!url) return std::move(url).error();
  return ClientOptions{
      .url = *std::move(url), .api_key = options.api_key, .verify_certificate = !options.insecure};
}

Result<Config> engine_config(const BackendOptions& options) {
  const auto draft = options.engine->draft();
  if (!draft) return draft.error();
  auto config = draft->finish();
  if (!config) return std::move(config).error();
  config->engine.model = options.place;
  return std::move(config->engine);
}

}  // namespace weft::cli
