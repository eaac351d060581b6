#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/bench/bench_commands.h"
#include "weft/cli/bench/bench_progress.h"
#include "weft/cli/bench/measured_options.h"
#include "weft/cli/bench/report_files.h"
#include "weft/cli/fail.h"
#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipe.h"

namespace weft::cli {
namespace {

constexpr const char* kBenchRecipeVerb = "bench recipe";
// The most rows that the recipes need at once; more rows would take memory in vain.
constexpr std::int32_t kRows = 32;
constexpr double kLeastScale = 0.01;
constexpr double kMostScale = 100;
constexpr std::int32_t kMostRepeats = 1000;

struct BenchRecipeOptions {
  std::string name;
  MeasuredOptions measured;
  std::uint64_t seed = 1;
  double scale = 1;
  std::int32_t repeats = 3;
  bool list = false;
  ReportFiles files;
};

void list_recipes() {
  std::size_t width = 0;
  for (const measure::Recipe& one : measure::recipes()) width = std::max(width, one.name.size());
  for (const measure::Recipe& one : measure::recipes()) {
    std::cout << one.name << std::string(width + 2 - one.name.size(), ' ') << one.what << '\n';
  }
}

const measure::Recipe& recipe_of(const BenchRecipeOptions& options) {
  const auto* const found = measure::find_recipe(options.name);
  if (found != nullptr) return *found;
  std::string names;
  for (const measure::Recipe& one : measure::recipes()) {
    names += names.empty() ? "" : ", ";
    names += one.name;
  }
  fail(kBenchRecipeVerb,
       (options.name.empty() ? "which recipe?" : options.name + ": there is no such recipe;") +
           std::string(" there are ") + names);
}

Config config_of(const BenchRecipeOptions& options) {
  Config config = measured_config(kBenchRecipeVerb, options.measured);
  if (config.max_rows == 0) config.max_rows = kRows;
  return config;
}

measure::Report carry_out(const measure::Recipe& recipe, measure::RecipeSetup& setup) {
  BenchProgress progress;
  setup.begin_part = [&progress](std::string_view part) { progress.begin(std::string(part)); };
  setup.progress = [&progress](std::size_t done, std::size_t of) { progress.show(done, of); };
  setup.stop = &progress.stop();
  std::vector<std::string> doubts;
  setup.warn = [&doubts](const std::string& what) { doubts.push_back(what); };
  try {
    measure::Report report = recipe.run(setup);
    report.findings.insert(report.findings.begin(), doubts.begin(), doubts.end());
    return report;
  } catch (const boost::system::system_error& error) {
    if (error.code() == boost::system::errc::operation_canceled) {
      throw CLI::RuntimeError(status_after(SIGINT));
    }
    fail(kBenchRecipeVerb, error.what());
  }
}

void run_bench_recipe(const BenchRecipeOptions& options) {
  if (options.list) return list_recipes();
  const measure::Recipe& recipe = recipe_of(options);
  check_report_files(kBenchRecipeVerb, options.files);
  Config config = config_of(options);
  const char* const shape = measure::runs_on_host(config) ? "llama-110m" : "llama-2-7b";
  const measure::MeasuredModel model =
      open_measured(kBenchRecipeVerb, config, options.measured, shape);
  settle_devices(kBenchRecipeVerb, model.opened, config);
  measure::RecipeSetup setup{.model = model};
  setup.config = config;
  setup.seed = options.seed;
  setup.scale = options.scale;
  setup.repeats = options.repeats;
  deliver_report(kBenchRecipeVerb, carry_out(recipe, setup), options.files);
}

}  // namespace

void add_bench_recipe(CLI::App& bench) {
  auto* command = bench.add_subcommand("recipe", "Repeat an experiment of a paper");
  auto options = std::make_shared<BenchRecipeOptions>();
  command->add_option("NAME", options->name, "Which; --list shows them");
  command->add_flag("--list", options->list, "List the recipes");
  add_measured_options(*command, options->measured);
  command->add_option("--seed", options->seed, "Of lengths, times and prompts")
      ->capture_default_str();
  command
      ->add_option("--scale", options->scale,
                   "Factor on lengths and numbers of requests; 0.1 quickly shows a recipe's effect")
      ->check(CLI::Range(kLeastScale, kMostScale))
      ->capture_default_str();
  command
      ->add_option("--repeats", options->repeats,
                   "Rounds of recipes that compare policies, which are played in turn, and of "
                   "flover-shuffle: medians")
      ->check(CLI::Range(1, kMostRepeats))
      ->capture_default_str();
  add_report_options(*command, options->files);
  command->callback([options] { run_bench_recipe(*options); });
}

}  // namespace weft::cli
