#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/cli/serve/interrupts.h"
#include "weft/core/io/file.h"
#include "weft/core/io/output.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/train/data/adapter_writer.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/content_hash.h"
#include "weft/train/data/examples.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/step/optimizer.h"
#include "weft/train/tuning_job.h"
#include "weft/train/tuning_setup.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTuneLoraVerb = "tune-lora";
// The rest is scaled by 1 / (1 - dropout), which must stay a modest number.
constexpr double kMostDropout = 0.99;
// Numbers beyond it are mistakes, and some of their products are no float32.
constexpr double kGreatest = 1e30;
constexpr double kLeast = 1e-30;
// The most steps that a killed process loses.
constexpr std::int64_t kStepsBetweenStates = 50;

struct TuneLoraArguments {
  ModelOptions model;
  std::string data, out, init;
  std::int64_t rank = 16;
  double alpha = 0;
  double dropout = 0;
  std::vector<std::string> targets{kTargetNames.begin(), kTargetNames.end()};
  OptimizerSettings optimizer;
  std::string schedule = "cosine";
  double epochs = 1;
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  std::size_t batch = 8;
  std::uint64_t seed = 0;
  bool resume = false;
  bool no_shuffle = false;
  bool json = false;

  /// Beside OUT, which may end with a slash.
  [[nodiscard]] fs::path state() const {
    const fs::path folder =
        fs::path(out).has_filename() ? fs::path(out) : fs::path(out).parent_path();
    return folder.string() + ".state";
  }
};

void check_paths(const TuneLoraArguments& arguments) {
  if (fs::exists(arguments.out))
    fail(kTuneLoraVerb, arguments.out + ": exists already, and is not replaced");
  // A draft that is dropped shows that OUT can be made, before hours of training.
  value_or_fail(kTuneLoraVerb, Draft::make(arguments.out, Draft::Kind::kFolder));
  if (!arguments.resume && fs::exists(arguments.state())) {
    fail(kTuneLoraVerb, arguments.state().string() +
                            ": a stopped run has left its state; --resume goes on with it, or "
                            "remove it");
  }
}

/// The pairs of --init, which are compared with the base as its files have it: its numbers may be
/// encoded when they are loaded.
Result<LowRankPairs> initial_pairs(const TuneLoraArguments& arguments,
                                   const TrainingProgram& training) {
  ModelOptions options = arguments.model;
  options.weights.clear();
  const OpenedModel plain = value_or_fail(kTuneLoraVerb, open_asked(options));
  const AdapterFile file = value_or_fail(kTuneLoraVerb, read_adapter(arguments.init));
  const Adapter adapter = value_or_fail(
      kTuneLoraVerb, bind_adapter(file, *plain.checkpoint, *plain.program, *plain.architecture));
  return pairs_of(training, *plain.architecture, adapter);
}

/// Says how the examples are learnt, and warns of examples that are cut or left out.
void tell_of_examples(const Examples& examples, std::size_t tokens) {
  if (const std::string how = how_learnt(examples); !how.empty())
    std::cerr << "weft tune-lora: " << how << '\n';
  if (examples.cut > 0) {
    std::cerr << "weft tune-lora: " << examples.cut << " of the examples have more than " << tokens
              << " tokens and are cut; " << examples.cut_out
              << " of these have nothing to learn then and are left out\n";
  }
  if (examples.without_weight > 0) {
    std::cerr << "weft tune-lora: " << examples.without_weight
              << " of the examples have no token with a weight and are left out\n";
  }
}

/// Returns a job's name. It includes how the spec reads the model, because the job itself does not
/// know this.
std::string job_name(const TuneLoraArguments& arguments, const OpenedModel& model) {
  const std::string& family = model.program->family;
  if (arguments.model.spec.empty()) return family;
  ContentHash hash;
  hash.add(value_or_fail(kTuneLoraVerb, read_text_file(arguments.model.spec, kAnySize)));
  return family + " by a spec " + std::to_string(hash.value());
}

std::int64_t steps_of(const TuneLoraArguments& arguments, const BatchPlan& plan) {
  if (arguments.steps > 0) return arguments.steps;
  const double steps = std::ceil(arguments.epochs * static_cast<double>(plan.steps_of_epoch()));
  if (!(steps <= static_cast<double>(kMostSteps)))
    fail(kTuneLoraVerb, "--epochs: gives more than 2^40 steps");
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

std::int64_t tokens_of(const TuneLoraArguments& arguments, std::int64_t context) {
  if (arguments.tokens == 0) return std::min(kMicroBatchTokens, context);
  if (arguments.tokens > context) {
    fail(kTuneLoraVerb,
         "--tokens: must be 2 .. " + std::to_string(context) + ", the model's context");
  }
  return arguments.tokens;
}

OptimizerSettings optimizer_settings(const TuneLoraArguments& arguments, const BatchPlan& plan) {
  OptimizerSettings settings = arguments.optimizer;
  settings.schedule = value_or_fail(kTuneLoraVerb, rate_schedule(arguments.schedule));
  settings.steps = steps_of(arguments, plan);
  return settings;
}

TuningSetup setup_of(const TuneLoraArguments& arguments, const OpenedModel& model) {
  TuningSetup setup;
  setup.model = arguments.model.path;
  setup.data = arguments.data;
  setup.name = job_name(arguments, model);
  setup.pairs = value_or_fail(kTuneLoraVerb, pair_settings(arguments.rank, arguments.alpha,
                                                           arguments.targets, arguments.seed));
  setup.dropout = arguments.dropout;
  setup.tokens = tokens_of(arguments, model.program->context);
  setup.seed = arguments.seed;
  setup.shuffle = !arguments.no_shuffle;
  setup.now = wall_clock();
  setup.threads = arguments.model.threads;
  if (!arguments.init.empty()) {
    setup.first_pairs = [&arguments](const TrainingProgram& training) {
      return initial_pairs(arguments, training);
    };
  }
  setup.choose_steps = [&arguments](const Examples& examples,
                                    BatchPlan& plan) -> Result<OptimizerSettings> {
    tell_of_examples(examples, plan.tokens);
    plan.batch = arguments.batch;
    return optimizer_settings(arguments, plan);
  };
  return setup;
}

TuningJob make_job(const TuneLoraArguments& arguments) {
  const OpenedModel model = value_or_fail(kTuneLoraVerb, open_asked(arguments.model));
  const TuningSetup setup = setup_of(arguments, model);
  ProgressBar bar("loading");
  const auto show = [&](std::int64_t done, std::int64_t total) { bar.show(done, total); };
  return value_or_fail(kTuneLoraVerb, make_tuning_job(model, setup, show));
}

void print_json(const StepReport& report) {
  std::cout << boost::json::serialize(boost::json::object{{"step", report.step},
                                                          {"loss", report.loss},
                                                          {"norm", report.norm},
                                                          {"rate", report.rate},
                                                          {"tokens", report.tokens}})
            << '\n'
            << std::flush;  // for a program that draws the curve meanwhile
}

std::string loss_text(const StepReport& report) {
  std::ostringstream text;
  text << "loss " << std::fixed << std::setprecision(4) << report.loss;
  return text.str();
}

/// Carries out all steps that are left; returns the signal that stopped it, 0: none did.
int train(const TuneLoraArguments& arguments, TuningJob& job) {
  const Interrupts interrupts({SIGTERM, SIGHUP});
  ProgressBar bar("tune-lora", count_line);
  while (!job.is_done()) {
    const auto stepped = job.step();
    if (!stepped) {
      if (job.steps_done() > 0) value_or_fail(kTuneLoraVerb, job.save(arguments.state()));
      fail(kTuneLoraVerb, to_string(stepped.error()));
    }
    const StepReport& report = *stepped;
    if (arguments.json) print_json(report);
    bar.set_label("tune-lora  " + loss_text(report));
    bar.show(job.steps_done(), job.steps());
    const int signal = Interrupts::take_signal();
    if (signal != 0 || job.steps_done() % kStepsBetweenStates == 0)
      value_or_fail(kTuneLoraVerb, job.save(arguments.state()));
    if (signal == 0) continue;
    bar.note("weft tune-lora: stopped after " + std::to_string(report.step) + " of " +
             std::to_string(job.steps()) + " steps; --resume goes on from " +
             arguments.state().string());
    return signal;
  }
  // The result may fail to be written.
  value_or_fail(kTuneLoraVerb, job.save(arguments.state()));
  return 0;
}

void write_result(const TuneLoraArguments& arguments, const TuningJob& job) {
  Draft draft = value_or_fail(kTuneLoraVerb, Draft::make(arguments.out, Draft::Kind::kFolder));
  value_or_fail(kTuneLoraVerb,
                write_peft_adapter(draft.place(), job.pairs(), model_name(arguments.model.path)));
  value_or_fail(kTuneLoraVerb, draft.finish());
  std::error_code ignored;
  fs::remove(arguments.state(), ignored);
  if (arguments.json) return;
  std::cout << arguments.out << ": " << job.pairs().pairs.size() << " pairs of rank "
            << job.pairs().rank << ", trained for " << job.steps_done() << " steps\n";
}

void run_tune_lora(const TuneLoraArguments& arguments) {
  check_paths(arguments);
  TuningJob job = make_job(arguments);
  if (arguments.resume && fs::exists(arguments.state()))
    value_or_fail(kTuneLoraVerb, job.restore(arguments.state()));
  if (const int signal = train(arguments, job); signal != 0)
    throw CLI::RuntimeError(status_after(signal));
  write_result(arguments, job);
}

/// Checks for a number in a range. CLI::Range takes NaN for one.
CLI::Validator number_from(double least, double most) {
  std::ostringstream range;
  range << least << " .. " << most;
  return {[=, words = range.str()](const std::string& text) {
            double number = 0;
            const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
            const bool is_in = read.ec == std::errc() && number >= least && number <= most;
            return is_in ? std::string() : "must be a number of " + words;
          },
          "in " + range.str()};
}

void add_adapter_options(CLI::App& command, TuneLoraArguments& arguments) {
  command.add_option("--rank", arguments.rank, "Rank of each pair")
      ->check(CLI::Range(std::int64_t{1}, kMaxAdapterRank))
      ->capture_default_str();
  command
      .add_option("--alpha", arguments.alpha,
                  "A pair is scaled by alpha / rank; default: twice the rank")
      ->check(number_from(kLeast, kGreatest));
  command
      .add_option("--dropout", arguments.dropout,
                  "Part of each pair's inputs that a step drops, as PEFT's lora_dropout")
      ->check(number_from(0, kMostDropout))
      ->capture_default_str();
  command
      .add_option("--targets", arguments.targets,
                  "Products that get a pair, of q, k, v, o, gate, up, down; default: all")
      ->delimiter(',');
  command
      .add_option("--init", arguments.init,
                  "Begin with this adapter's pairs, instead of --rank, --alpha and --targets")
      ->type_name("ADAPTER");
}

void add_step_options(CLI::App& command, TuneLoraArguments& arguments) {
  OptimizerSettings& optimizer = arguments.optimizer;
  command.add_option("--lr", optimizer.rate, "Greatest learning rate")
      ->check(number_from(kLeast, kGreatest))
      ->capture_default_str();
  command.add_option("--schedule", arguments.schedule, "constant or cosine")->capture_default_str();
  command.add_option("--warmup", optimizer.warmup, "Steps in which the rate rises from 0")
      ->check(CLI::Range(std::int64_t{0}, kMostSteps))
      ->capture_default_str();
  command.add_option("--clip", optimizer.clip, "Greatest norm of the gradients; 0: any")
      ->check(number_from(0, kGreatest))
      ->capture_default_str();
  command.add_option("--decay", optimizer.decay, "Weight decay of AdamW")
      ->check(number_from(0, kGreatest))
      ->capture_default_str();
  command.add_option("--epochs", arguments.epochs, "How often all examples are learnt")
      ->check(number_from(kLeast, kGreatest))
      ->capture_default_str();
  command.add_option("--steps", arguments.steps, "Steps, instead of --epochs")
      ->check(CLI::Range(std::int64_t{1}, kMostSteps));
  command.add_option("--batch", arguments.batch, "Examples of a step")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  command
      .add_option(
          "--tokens", arguments.tokens,
          "Tokens that are computed at once, and the longest example; default: 2048, or the "
          "model's context")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 31));
  command.add_option("--seed", arguments.seed, "Of new pairs, and of the examples' order")
      ->capture_default_str();
  command.add_flag("--no-shuffle", arguments.no_shuffle, "Keep the file's order in each epoch");
}

}  // namespace

void add_tune_lora_command(CLI::App& app) {
  auto* command = app.add_subcommand("tune-lora", "Fine-tune a model: make a LoRA adapter of data");
  auto arguments = std::make_shared<TuneLoraArguments>();
  command->add_option("MODEL", arguments->model.path, "The base, a folder in Hugging Face layout")
      ->required();
  command
      ->add_option("DATA", arguments->data,
                   "JSON lines with messages or text (docs/fine-tuning.md)")
      ->required();
  command->add_option("OUT", arguments->out, "The adapter's folder; it must not be there")
      ->required();
  add_adapter_options(*command, *arguments);
  add_step_options(*command, *arguments);
  command
      ->add_option("--weights", arguments->model.weights,
                   "The type of the frozen weights, as q4_k; default: their own")
      ->type_name("TYPE");
  command->add_option("--spec", arguments->model.spec, "Read the model by this spec")
      ->type_name("FILE");
  command->add_option("--threads", arguments->model.threads, "0 = one for each core")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--resume", arguments->resume, "Go on from OUT.state, if it is there");
  command->add_flag("--json", arguments->json, "Print each step's loss as a line of JSON");
  command->callback([arguments] { run_tune_lora(*arguments); });
}

}  // namespace weft::cli
