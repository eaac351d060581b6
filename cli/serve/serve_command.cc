#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/loading/run_rank_process.h"
#include "weft/cli/commands.h"
#include "weft/cli/config_options.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/serve/heap.h"
#include "weft/cli/serve/rank_process.h"
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

/// Returns the models of [[models]], or the one model of the other keys.
ModelsConfig models_of(const FileConfig& config) {
  if (!config.models.models.empty()) return config.models;
  if (config.engine.model.empty()) fail(kServeVerb, "which model? weft serve MODEL");
  const std::string& name = config.server.model_name;
  return ModelsConfig::of(config.engine, name.empty() ? model_name(config.engine.model) : name);
}

/// Runs this process as a rank of another process's server, if it is one. Returns true when it was
/// one and has ended.
bool was_rank(const Config& config) {
  const auto world = value_or_fail(kServeVerb, rank_world_of(config));
  if (world.rank == 0) return false;
  const auto ran =
      RankProcess().run([&config](const RankStop& stop) { return run_rank_process(config, stop); });
  if (!ran) fail(kServeVerb, ran.error(), exit_status(ran.error()));
  return true;
}

/// Refuses several models where there are ranks, because several models run in one process.
void refuse_ranks(const ModelsConfig& models) {
  for (const ModelConfig& model : models.models) {
    const auto world = value_or_fail(kServeVerb, rank_world_of(model.config));
    if (world.is_alone()) continue;
    fail(kServeVerb, "models: all are of one process, and the launcher has started " +
                         std::to_string(world.size));
  }
}

void run_serve(const ConfigOptions& options) {
  if (options.peek("log.format") == "json") tell_failures_in_json();
  const ConfigDraft draft = value_or_fail(kServeVerb, options.draft());
  const FileConfig config = value_or_fail(kServeVerb, draft.finish());
  const ModelsConfig models = models_of(config);
  if (config.server.host.empty() && config.server.unix_socket.empty()) {
    fail(kServeVerb, "no address to listen at: server.host and server.unix_socket are both empty");
  }
  if (models.models.size() == 1) {
    if (was_rank(models.models.front().config)) return;
  } else {
    refuse_ranks(models);
  }
  return_large_blocks();
  const auto served = Serving(models, config.server, make_log(config.server)).run();
  if (!served) fail(kServeVerb, served.error(), exit_status(served.error()));
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command = app.add_subcommand("serve", "Serve models over HTTP and WebSocket");
  auto options = std::make_shared<ConfigOptions>(*command, config_schema());
  command->callback([options] { run_serve(*options); });
}

}  // namespace weft::cli
