#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/serving.h"

namespace weft::cli {
namespace {

constexpr const char* kVerb = "serve";

struct Options {
  std::string model;
  std::string file;
  ServerConfig server;
};

void run(const Options& options) {
  Config config;
  if (!options.file.empty()) config = value_or_fail(kVerb, Config::load(options.file));
  if (!options.model.empty()) config.model = options.model;
  if (config.model.empty()) fail(kVerb, "which model? weft serve MODEL");
  const auto format =
      options.server.log_format == "json" ? RequestLog::Format::kJson : RequestLog::Format::kText;
  auto log = std::make_shared<RequestLog>(make_stderr_logger(format, options.server.log_level),
                                          format, options.server.log_prompts);
  value_or_fail(kVerb, Serving(config, options.server, std::move(log)).run());
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command = app.add_subcommand("serve", "Serve a model over HTTP and WebSocket");
  auto options = std::make_shared<Options>();
  command->add_option("MODEL", options->model, "A folder, a GGUF file or a llama2.c file");
  command->add_option("--config", options->file, "A TOML file; see docs/configuration.md");
  command->add_option("--host", options->server.host, "The address to listen on");
  command->add_option("--port", options->server.port, "The port; 0 = any");
  command->callback([options] { run(*options); });
}

}  // namespace weft::cli
