#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/bench/bench_commands.h"
#include "weft/cli/bench/report_files.h"
#include "weft/cli/bench/shape_options.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/measure/steps/device_peak.h"
#include "weft/measure/steps/step_bench.h"
#include "weft/measure/steps/step_report.h"
#include "weft/model/random_llama.h"

namespace weft::cli {
namespace {

constexpr const char* kBenchStepVerb = "bench step";
// More rows or tokens than any device has. Whether they fit shows when memory is allocated.
constexpr std::int32_t kMostBatch = 1 << 16;
constexpr std::int32_t kMostTokens = 1 << 24;
constexpr std::int32_t kMostSteps = 1'000'000;

struct BenchStepOptions {
  ModelOptions model;
  ShapeOptions shape;
  measure::StepWishes wishes;
  bool asks_contexts = false;
  bool asks_prompts = false;
  ReportFiles files;
};

struct NamedModel {
  std::string name;
  OpenedModel opened;
};

NamedModel make_random(const BenchStepOptions& options) {
  NamedShape shape = shape_of(kBenchStepVerb, options.shape, options.model.weights);
  const RandomLlama llama(shape.shape, static_cast<std::uint32_t>(options.wishes.seed));
  return {std::move(shape.name), llama.opened()};
}

NamedModel open_what_is_asked(const BenchStepOptions& options) {
  if (options.model.path.empty() == options.shape.name.empty()) {
    fail(kBenchStepVerb, "give either MODEL or --shape, which is one of " + llama_shape_names());
  }
  if (!options.shape.name.empty()) {
    if (!options.model.spec.empty()) fail(kBenchStepVerb, "--spec: only with MODEL");
    if (!options.model.adapter.empty()) fail(kBenchStepVerb, "--adapter: only with MODEL");
    return make_random(options);
  }
  expect_no_shape_options(kBenchStepVerb, options.shape);
  std::string name = model_name(options.model.path);
  if (!options.model.adapter.empty()) name += ", adapter " + options.model.adapter;
  if (!options.model.weights.empty()) name += ", weights as " + options.model.weights;
  return {std::move(name), value_or_fail(kBenchStepVerb, open_asked(options.model))};
}

/// Shortens lengths to the model's context.
void shorten(std::vector<std::int32_t>& lengths, std::int64_t context) {
  for (std::int32_t& one : lengths) {
    one = static_cast<std::int32_t>(std::min<std::int64_t>(one, context));
  }
}

measure::StepWishes wishes_of(const BenchStepOptions& options, const Program& program) {
  measure::StepWishes wishes = options.wishes;
  wishes.device = options.model.device;
  wishes.threads = options.model.threads;
  wishes.kv_dtype = options.model.kv_dtype;
  wishes.rounds_rows = options.model.rounds_rows;
  std::erase(wishes.batches, 0);
  std::erase(wishes.prompts, 0);
  // Default lengths are shortened; lengths that the user asked for are not.
  if (!options.asks_contexts) shorten(wishes.contexts, program.context);
  if (!options.asks_prompts) shorten(wishes.prompts, program.context);
  if (wishes.batches.empty() && wishes.prompts.empty()) {
    fail(kBenchStepVerb, "--batch 0 --prefill 0: leaves nothing to measure");
  }
  return wishes;
}

std::string device_text(const std::string& device) {
  DeviceInfo info = host_info();
  const std::string first = measure::limiting_device(device);
  if (first != info.name) {
    const auto all = value_or_fail(kBenchStepVerb, list_devices());
    const auto found = std::ranges::find(all, first, &DeviceInfo::name);
    if (found != all.end()) info = *found;
  }
  return device + ", " + info.model;
}

std::vector<std::pair<std::string, std::string>> step_facts(const NamedModel& model,
                                                            const measure::StepWishes& wishes) {
  const Program& program = *model.opened.program;
  const DType kv = wishes.kv_dtype.value_or(kv_dtype_for(wishes.device, program));
  return {{"model", model.name + "; " + program.family + ", " +
                        measure::number(static_cast<double>(program.parameters)) + " parameters, " +
                        measure::number(static_cast<double>(program.weight_bytes()) * 1e-9) +
                        " GB of weights that steps read"},
          {"device", device_text(wishes.device)},
          {"keys and values", std::string(kv_dtype_name(kv)) + ", pages of " +
                                  std::to_string(wishes.page_tokens) + " tokens"},
          {"measured", std::to_string(wishes.repeats) + " times the mean of " +
                           std::to_string(wishes.steps) + " steps, of prompts one"},
          {"seed", std::to_string(wishes.seed)},
          {"weft", WEFT_VERSION}};
}

StepDevices load(const NamedModel& model, const measure::StepWishes& wishes) {
  ProgressBar bar("loading");
  auto loaded = measure::load_for_steps(
      model.opened, wishes,
      [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); });
  if (!loaded) fail(kBenchStepVerb, device_flag_error(loaded.error(), wishes.device));
  return *std::move(loaded);
}

// Ctrl-C ends the process at once, because there is nothing to put back; shells show 130. The files
// are written only at the end.
void run_bench_step(const BenchStepOptions& options) {
  check_report_files(kBenchStepVerb, options.files);
  const NamedModel model = open_what_is_asked(options);
  const Program& program = *model.opened.program;
  measure::StepWishes wishes = wishes_of(options, program);
  const auto most = [](const std::vector<std::int32_t>& of) {
    return of.empty() ? 1 : std::ranges::max(of);
  };
  wishes.device =
      value_or_fail(kBenchStepVerb,
                    settled_device(model.opened, wishes.device,
                                   {.rows = most(wishes.batches), .context = most(wishes.contexts)},
                                   wishes.kv_dtype));
  wishes.stages = value_or_fail(kBenchStepVerb, measure::stages_of(model.opened, wishes.device));
  const StepDevices loaded = load(model, wishes);
  const auto peak = value_or_fail(
      kBenchStepVerb,
      measure::make_device_peak(measure::limiting_device(wishes.device), wishes.threads, program,
                                measure::most_bytes(program, wishes)));
  const auto device = measure::as_one_device(loaded);
  measure::StepFigures figures;
  {
    ProgressBar bar("measuring", count_line);
    figures = value_or_fail(kBenchStepVerb,
                            measure::measure_steps(*device, program, *peak, wishes,
                                                   [&bar](std::int64_t done, std::int64_t total) {
                                                     bar.show(done, total);
                                                   }));
  }
  deliver_report(kBenchStepVerb,
                 measure::step_report(figures, model.name, step_facts(model, wishes)),
                 options.files);
}

void add_list(CLI::App& command, const std::string& name, std::vector<std::int32_t>& values,
              std::int32_t least, std::int32_t most, const std::string& help) {
  command.add_option(name, values, help)
      ->delimiter(',')
      ->allow_extra_args(false)  // a word that follows is MODEL
      ->check(CLI::Range(least, most))
      ->capture_default_str();
}

void add_options(CLI::App& command, BenchStepOptions& options) {
  add_model_options(command, options.model, true);
  command.get_option("MODEL")->required(false);
  add_shape_options(command, options.shape);
  measure::StepWishes& wishes = options.wishes;
  add_list(command, "--batch", wishes.batches, 0, kMostBatch,
           "Sequences that decode together; 0 = no decoding");
  add_list(command, "--context", wishes.contexts, 1, kMostTokens,
           "Tokens that each of them attends to");
  add_list(command, "--prefill", wishes.prompts, 0, kMostTokens,
           "Tokens of a prompt that is computed alone; 0 = none");
  command
      .add_option("--steps", wishes.steps, "Decode steps in a row, whose mean is one measurement")
      ->check(CLI::Range(1, kMostSteps))
      ->capture_default_str();
  command.add_option("--repeats", wishes.repeats, "Measurements of each, in turn with the limits'")
      ->check(CLI::Range(1, kMostSteps))
      ->capture_default_str();
  command.add_option("--page-tokens", wishes.page_tokens, "Tokens of a page of keys and values")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--seed", wishes.seed, "Same seed, same weights, tokens and choices")
      ->capture_default_str();
  add_report_options(command, options.files);
}

}  // namespace

void add_bench_step(CLI::App& bench) {
  auto* command =
      bench.add_subcommand("step", "Time a model's decode and prefill steps beside their limit");
  auto options = std::make_shared<BenchStepOptions>();
  add_options(*command, *options);
  command->callback([command, options] {
    options->asks_contexts = command->count("--context") > 0;
    options->asks_prompts = command->count("--prefill") > 0;
    run_bench_step(*options);
  });
}

}  // namespace weft::cli
