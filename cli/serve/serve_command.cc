#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <utility>

#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/loading/run_rank_process.h"
#include "weft/cli/commands.h"
#include "weft/cli/config_options.h"
#include "weft/cli/fail.h"
#include "weft/cli/serve/heap.h"
#include "weft/cli/serve/serving.h"

namespace weft::cli {
namespace {

constexpr const char* kServeVerb = "serve";

std::shared_ptr<RequestLog> make_log(const ServerConfig& server) {
  const auto format =
      server.log_format == "json" ? RequestLog::Format::kJson : RequestLog::Format::kText;
  return std::make_shared<RequestLog>(make_stderr_logger(format, server.log_level), format,
                                      server.log_prompts);
}

/// Whether this process was a rank of another's server, and has come to its end.
bool was_rank(const Config& config) {
  const auto world = value_or_fail(kServeVerb, rank_world_of(config));
  if (world.rank == 0) return false;
  // The head ends its ranks when it has served what it had; launchers tell all processes at once.
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  const auto ran = run_rank_process(config);
  if (!ran) fail(kServeVerb, ran.error(), exit_status(ran.error()));
  return true;
}

void run_serve(const ConfigOptions& options) {
  const ConfigDraft draft = value_or_fail(kServeVerb, options.draft());
  const FileConfig config = value_or_fail(kServeVerb, draft.finish());
  if (config.engine.model.empty()) fail(kServeVerb, "which model? weft serve MODEL");
  if (config.server.host.empty() && config.server.unix_socket.empty()) {
    fail(kServeVerb, "on what address? server.host and server.unix_socket are both empty");
  }
  if (was_rank(config.engine)) return;
  return_large_blocks();
  const auto served = Serving(config.engine, config.server, make_log(config.server)).run();
  if (!served) fail(kServeVerb, served.error(), exit_status(served.error()));
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command = app.add_subcommand("serve", "Serve a model over HTTP and WebSocket");
  auto options = std::make_shared<ConfigOptions>(*command, config_schema());
  command->callback([options] { run_serve(*options); });
}

}  // namespace weft::cli
