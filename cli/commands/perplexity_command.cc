#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/cli/serve/interrupts.h"
#include "weft/core/io/file.h"
#include "weft/core/text/utf8.h"
#include "weft/measure/perplexity/perplexity.h"
#include "weft/measure/perplexity/token_window.h"
#include "weft/measure/report/quantile.h"

namespace weft::cli {
namespace {

constexpr const char* kPerplexityVerb = "perplexity";
// The length of a window where the model's context is longer. Published tables use it, too.
constexpr std::int64_t kDefaultContext = 2048;
constexpr std::int64_t kMostContext = std::int64_t{1} << 31;
// Logits of a step in bytes: wide steps read the weights less often, a large vocabulary bounds
// them.
constexpr std::int64_t kLogitBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostOutputs = 512;

struct PerplexityOptions {
  ModelOptions model;
  std::string text;
  std::string against;
  std::int64_t context = 0;
  std::int64_t stride = 0;
  bool no_special = false;
  bool json = false;
};

/// One of the models: its files, and its device once it is loaded.
struct PerplexityModel {
  ModelOptions options;
  OpenedModel opened;
  std::vector<TokenId> tokens;
  std::unique_ptr<ModelDevice> device;
};

std::string read_text(const std::string& path) {
  std::string text = path == "-" ? text_argument(path)
                                 : value_or_fail(kPerplexityVerb, read_text_file(path, kAnySize));
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return text;
  fail(kPerplexityVerb, path + ": byte " + std::to_string(valid) + " is not UTF-8");
}

PerplexityModel open_measured(const PerplexityOptions& options, const std::string& path,
                              const std::string& text, bool is_reference) {
  PerplexityModel model;
  model.options = options.model;
  model.options.path = path;
  if (path != options.model.path) model.options.spec.clear();
  if (is_reference) model.options.weights.clear();
  model.opened = value_or_fail(kPerplexityVerb, open_asked(model.options));
  const Program& program = *model.opened.program;
  if (!program.generates() || program.has_encoder) {
    fail(kPerplexityVerb, path + ": perplexity is of models that have a decoder alone");
  }
  const Tokenizer tokenizer = value_or_fail(kPerplexityVerb, load_tokenizer(path));
  const EncodeOptions encode{!options.no_special, !options.no_special};
  value_or_fail(kPerplexityVerb, tokenizer.encode(text, encode, model.tokens));
  if (model.tokens.size() >= 2) return model;
  fail(kPerplexityVerb, options.text + ": " + std::to_string(model.tokens.size()) +
                            " tokens; the first is not scored, so there must be 2 or more");
}

/// Both models must give a text the same tokens and have a logit for each token.
void require_same_vocabulary(const PerplexityModel& model, const PerplexityModel& reference) {
  const std::int64_t own = model.opened.program->vocabulary;
  const std::int64_t other = reference.opened.program->vocabulary;
  if (own != other) {
    fail(kPerplexityVerb, "--against: the vocabulary has " + std::to_string(other) +
                              " tokens, that of MODEL " + std::to_string(own));
  }
  const auto [at, same] = std::ranges::mismatch(model.tokens, reference.tokens);
  if (at == model.tokens.end() && same == reference.tokens.end()) return;
  fail(kPerplexityVerb, "--against: the tokenizer is another: token " +
                            std::to_string(at - model.tokens.begin()) + " of the text differs");
}

std::int64_t context_of(const PerplexityOptions& options, const PerplexityModel& model) {
  const std::int64_t most = model.opened.program->context;
  if (options.context > most) {
    fail(kPerplexityVerb, "--context " + std::to_string(options.context) + ": " +
                              model.options.path + " has a context of " + std::to_string(most));
  }
  return options.context > 0 ? options.context : std::min(most, kDefaultContext);
}

std::int64_t stride_of(const PerplexityOptions& options, std::int64_t context) {
  if (options.stride > context) {
    fail(kPerplexityVerb, "--stride " + std::to_string(options.stride) +
                              ": more than the context of " + std::to_string(context));
  }
  return options.stride > 0 ? options.stride : std::max<std::int64_t>(context / 2, 1);
}

void load(PerplexityModel& model, std::int64_t context) {
  const auto row = static_cast<std::int64_t>(sizeof(float)) * model.opened.program->vocabulary;
  const auto outputs =
      std::clamp<std::int64_t>(kLogitBytes / row, SequenceRunner::kStepOutputs, kMostOutputs);
  model.device = value_or_fail(kPerplexityVerb, load_alone(model.opened, model.options, context,
                                                           static_cast<std::int32_t>(outputs)));
}

struct Measured {
  measure::PerplexityReport report;
  std::int64_t tokens = 0;
  std::int64_t context = 0;
  std::int64_t stride = 0;
};

/// Both models, opened but not loaded; the reference is optional.
struct PerplexityModels {
  PerplexityModel model;
  std::optional<PerplexityModel> reference;
};

PerplexityModels open_models(const PerplexityOptions& options) {
  const std::string text = read_text(options.text);
  PerplexityModels models{open_measured(options, options.model.path, text, false), std::nullopt};
  if (options.against.empty()) return models;
  models.reference = open_measured(options, options.against, text, true);
  require_same_vocabulary(models.model, *models.reference);
  return models;
}

/// Scores the windows; a Ctrl-C ends the verb.
measure::PerplexityReport score(const PerplexityModels& models,
                                const std::vector<measure::TokenWindow>& windows) {
  const auto total = static_cast<std::int64_t>(measure::count_scored(windows));
  const Interrupts interrupts;
  ProgressBar bar("perplexity", count_line);
  bool stopped = false;
  measure::PerplexityRun run;
  run.model = models.model.device.get();
  if (models.reference) run.reference = models.reference->device.get();
  run.tokens = models.model.tokens;
  run.windows = windows;
  run.progress = [&](std::int64_t scored) {
    bar.show(scored, total);
    stopped = Interrupts::take_interrupt();
    return !stopped;
  };
  auto report = value_or_fail(kPerplexityVerb, measure::measure_perplexity(run));
  if (!stopped) return report;
  bar.note("weft perplexity: stopped after " + std::to_string(report.loss.count()) + " of " +
           std::to_string(total) + " tokens");
  throw CLI::RuntimeError(status_after(SIGINT));
}

Measured measure_text(const PerplexityOptions& options) {
  PerplexityModels models = open_models(options);
  auto& [model, reference] = models;
  Measured measured;
  measured.tokens = static_cast<std::int64_t>(model.tokens.size());
  measured.context = context_of(options, model);
  if (reference) measured.context = std::min(measured.context, context_of(options, *reference));
  measured.stride = stride_of(options, measured.context);
  load(model, measured.context);
  if (reference) load(*reference, measured.context);
  measured.report =
      score(models, measure::sliding_windows(model.tokens.size(),
                                             static_cast<std::size_t>(measured.context),
                                             static_cast<std::size_t>(measured.stride)));
  return measured;
}

/// A perplexity, or a ratio of two, from a mean of logarithms.
struct Exponential {
  explicit Exponential(const measure::TokenMean& mean)
      : value(std::exp(mean.mean())), error(value * mean.error()) {}

  double value;
  double error;
};

std::ostream& operator<<(std::ostream& out, const Exponential& number) {
  return out << number.value << " +- " << number.error;
}

double divergence_below(const measure::PredictionDifference& difference, double part) {
  const auto& all = difference.divergences;
  return measure::quantile({all.begin(), all.end()}, part);
}

void print_table(const Measured& measured) {
  const measure::PerplexityReport& report = measured.report;
  std::cout << std::fixed << std::setprecision(4) << "perplexity  " << Exponential(report.loss)
            << "\ntokens      " << report.loss.count() << " scored of " << measured.tokens
            << ", windows of " << measured.context << " every " << measured.stride << '\n';
  if (!report.difference) return;
  const measure::PredictionDifference& difference = *report.difference;
  std::cout << "reference   " << Exponential(difference.reference_loss) << "\nratio       "
            << std::setprecision(5) << Exponential(difference.loss_difference)
            << "\nKL          mean " << std::setprecision(6) << difference.divergence.mean()
            << " +- " << difference.divergence.error() << ", median "
            << divergence_below(difference, 0.5) << ", 99 % below "
            << divergence_below(difference, 0.99) << "\nsame top    " << std::setprecision(2)
            << 100 * difference.same_top.mean() << " % +- " << 100 * difference.same_top.error()
            << " %\n";
}

// Returns null for infinities, which JSON lacks.
boost::json::value json_number(double number) {
  return std::isfinite(number) ? boost::json::value(number) : boost::json::value(nullptr);
}

boost::json::object json_of(double value, double error) {
  return {{"value", json_number(value)}, {"error", json_number(error)}};
}

boost::json::object json_of(const Exponential& number) {
  return json_of(number.value, number.error);
}

void print_json(const Measured& measured) {
  const measure::PerplexityReport& report = measured.report;
  boost::json::object all = {{"perplexity", json_of(Exponential(report.loss))},
                             {"tokens", measured.tokens},
                             {"scored", report.loss.count()},
                             {"context", measured.context},
                             {"stride", measured.stride}};
  if (report.difference) {
    const measure::PredictionDifference& difference = *report.difference;
    all["reference"] = json_of(Exponential(difference.reference_loss));
    all["ratio"] = json_of(Exponential(difference.loss_difference));
    boost::json::object divergence =
        json_of(difference.divergence.mean(), difference.divergence.error());
    divergence["median"] = json_number(divergence_below(difference, 0.5));
    divergence["p99"] = json_number(divergence_below(difference, 0.99));
    all["kl"] = std::move(divergence);
    all["same_top"] = json_of(difference.same_top.mean(), difference.same_top.error());
  }
  std::cout << boost::json::serialize(all) << '\n';
}

void run_perplexity(const PerplexityOptions& options) {
  const Measured measured = measure_text(options);
  if (options.json) {
    print_json(measured);
  } else {
    print_table(measured);
  }
}

}  // namespace

void add_perplexity_command(CLI::App& app) {
  auto* command = app.add_subcommand("perplexity", "Measure how well a model predicts a text");
  auto options = std::make_shared<PerplexityOptions>();
  add_model_options(*command, options->model, true);
  command->add_option("TEXT", options->text, "A file of UTF-8; - reads standard input")->required();
  command->add_option("--against", options->against, "Compare with the predictions of this model")
      ->type_name("MODEL");
  command
      ->add_option("--context", options->context,
                   "Tokens of a window; default: the model's context, at most 2048")
      ->check(CLI::Range(std::int64_t{2}, kMostContext));
  command
      ->add_option("--stride", options->stride,
                   "Tokens from one window to the next; default: half of the context")
      ->check(CLI::Range(std::int64_t{1}, kMostContext));
  command->add_flag("--no-special", options->no_special,
                    "Add no BOS or EOS, and take special tokens in the text as plain text");
  command->add_flag("--json", options->json, "Print the numbers as JSON");
  command->callback([options] { run_perplexity(*options); });
}

}  // namespace weft::cli
