#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/bench/bench_commands.h"
#include "weft/cli/bench/bench_progress.h"
#include "weft/cli/bench/load_options.h"
#include "weft/cli/bench/measured_options.h"
#include "weft/cli/bench/report_files.h"
#include "weft/cli/fail.h"
#include "weft/measure/engine/engine_load.h"
#include "weft/measure/engine/engine_report.h"
#include "weft/measure/engine/policy_list.h"

namespace weft::cli {
namespace {

constexpr const char* kBenchEngineVerb = "bench engine";

struct BenchEngineOptions {
  MeasuredOptions measured;
  LoadOptions load;
  std::string policies;
  double shared = 0;
  ReportFiles files;
};

std::vector<Config> configs_of(const BenchEngineOptions& options) {
  const Config config = measured_config(kBenchEngineVerb, options.measured);
  if (options.policies.empty()) return {config};
  auto configs = measure::with_policies(config, options.policies);
  if (!configs) fail(kBenchEngineVerb, "--policies " + configs.error().detail);
  // Checked early, so that a mistake does not show only after minutes of measuring.
  if (config.device != "cpu" && std::ranges::any_of(*configs, [](const Config& one) {
        return one.policy == BatchPolicy::kInstances;
      })) {
    fail(kBenchEngineVerb, "--policies instances: only cpu runs several");
  }
  return *std::move(configs);
}

void run_bench_engine(const BenchEngineOptions& options) {
  check_report_files(kBenchEngineVerb, options.files);
  std::vector<Config> configs = configs_of(options);
  measure::Load load = value_or_fail(kBenchEngineVerb, load_of(options.load));
  load.shared = options.shared;
  const measure::MeasuredModel model =
      open_measured(kBenchEngineVerb, configs.front(), options.measured);
  settle_devices(kBenchEngineVerb, model.opened, configs.front());
  for (Config& config : configs) config.partition = configs.front().partition;
  std::vector<measure::MeasuredPolicy> measured;
  std::optional<Error> failure;
  BenchProgress progress;
  for (const Config& config : configs) {
    progress.begin(measure::policy_text(config));
    auto result = measure::run_engine(model, config, load, options.load.seed, progress.options());
    if (!result) {
      failure = result.error();
      break;
    }
    measured.push_back({config, *std::move(result)});
    if (progress.stopped()) break;
  }
  progress.end();
  if (measured.empty() && failure) fail(kBenchEngineVerb, *failure);
  measure::Report report = measure::engine_report(model.name, measured, slo_of(options.load));
  for (auto& fact : load_facts(options.load)) report.facts.push_back(std::move(fact));
  if (options.shared > 0) {
    const auto percent = static_cast<int>(std::lround(100 * options.shared));
    report.facts.emplace_back("shared of each prompt", std::to_string(percent) + " %");
  }
  deliver_report(kBenchEngineVerb, report, options.files);
  if (failure)
    fail(kBenchEngineVerb, *failure);  // the report came first, so that what was
                                       // measured is not lost
  if (progress.stopped()) throw CLI::RuntimeError(status_after(SIGINT));
}

}  // namespace

void add_bench_engine(CLI::App& bench) {
  auto* command = bench.add_subcommand("engine", "Measure the engine in this process under a load");
  auto options = std::make_shared<BenchEngineOptions>();
  add_measured_options(*command, options->measured);
  command
      ->add_option("--policies", options->policies,
                   "Instead of --policy: each of these in turn under the same load, such as "
                   "fusion,window:50,static,instances:8")
      ->type_name("LIST");
  add_load_options(*command, options->load);
  command
      ->add_option("--shared", options->shared,
                   "Share of each prompt, from its beginning, that is the same in all")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  add_report_options(*command, options->files);
  command->callback([options] { run_bench_engine(*options); });
}

}  // namespace weft::cli
