// FineInfer's rule of deferral. Poisson requests come while a model is fine-tuned. The recipe
// measures latency and training against the bound up to which requests wait for an iteration,
// beside the paper's baselines (inference first, training to its end first) and a policy that
// trains behind every step.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/engine/synthetic_training.h"
#include "weft/measure/recipes/fineinfer_lengths.h"
#include "weft/measure/recipes/forward_split.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

/// How training and requests share the device.
struct TrainingChoice {
  const char* name;
  TrainingKind kind;
  double bound = 0;  ///< iterations that a request waits at most, with kDeferral
};
// The first one is what the others are compared with.
constexpr std::array kChoices = {
    TrainingChoice{"no training", TrainingKind::kOff},
    TrainingChoice{"bound of 0 iterations", TrainingKind::kDeferral, 0},
    TrainingChoice{"bound of 1", TrainingKind::kDeferral, 1},
    TrainingChoice{"bound of 2", TrainingKind::kDeferral, 2},
    TrainingChoice{"bound of 4", TrainingKind::kDeferral, 4},
    TrainingChoice{"fill", TrainingKind::kFill},
    TrainingChoice{"inference first", TrainingKind::kInferenceFirst},
    TrainingChoice{"finish first", TrainingKind::kFinishFirst},
};
// fractions of the requests a second that are served without training
constexpr std::array kDeferralLoads = {0.25, 0.5, 0.8};
constexpr double kDeferralSeconds = 8;  // for each load and choice
constexpr std::int64_t kTrainedTokens = 128;
/// With "fill", the time between tokens that is aimed at, over its P99 without training.
constexpr double kFilledBetween = 1.15;

/// One choice under one load.
struct DeferralPoint {
  const TrainingChoice* choice = nullptr;
  LoadPoint point;
  double trained = 0;  ///< training, as a share of what the device trains with nothing else to do

  [[nodiscard]] const Summary& summary() const noexcept { return point.summary; }
};
/// All choices under one load, in their order.
struct DeferralLoad {
  double load = 0;  ///< one of kDeferralLoads
  double rate = 0;  ///< requests a second
  std::vector<DeferralPoint> points;
};

/// Data that the parts of the experiment share.
struct Trained {
  std::shared_ptr<TrainingWork> work;
  IterationAlone alone;

  [[nodiscard]] double share_of(const TrainingRun& run) const {
    const double iterations = static_cast<double>(run.pieces) / static_cast<double>(alone.pieces);
    return run.seconds > 0 ? iterations * alone.seconds / run.seconds : 0;
  }
};

Trained make_trained(const RecipeSetup& setup) {
  if (setup.begin_part) setup.begin_part("training alone");
  Trained trained;
  trained.work = make_synthetic_training(setup.model, kTrainedTokens, setup.config.threads).value();
  trained.alone = measure_iteration(*trained.work).value();
  return trained;
}

std::chrono::microseconds microseconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::duration<double>(seconds));
}

Contender contender_of(const RecipeSetup& setup, const Trained& trained,
                       const TrainingChoice& choice) {
  Contender contender{choice.name, with_policy(setup, BatchPolicy::kFusion)};
  contender.config.training = choice.kind;
  contender.config.training_deferral_bound = microseconds_of(choice.bound * trained.alone.seconds);
  if (choice.kind == TrainingKind::kOff) return contender;
  contender.training = trained.work;
  if (choice.kind == TrainingKind::kFinishFirst) {
    // Half of the load's time, and the iteration before the load.
    const double half = kDeferralSeconds * setup.scale / 2;
    const auto iterations = static_cast<std::int64_t>(half / trained.alone.seconds);
    contender.training = std::make_shared<FirstIterations>(trained.work, iterations + 2);
  }
  return contender;
}

/// Adds the figures of some choices under one load, which the contenders play in turn.
void add_points(const RecipeSetup& setup, const Trained& trained, const RequestLengths& lengths,
                std::span<const TrainingChoice> choices, DeferralLoad& to) {
  std::vector<Contender> contenders;
  for (const TrainingChoice& choice : choices) {
    contenders.push_back(contender_of(setup, trained, choice));
    if (choice.kind != TrainingKind::kFill) continue;
    // Filling leaves tokens the time that is aimed at, so the aim follows what they take without.
    const double aim = kFilledBetween * to.points.front().summary().between.p99;
    contenders.back().config.target_inter_token = microseconds_of(aim);
  }
  auto curves = sweep(setup, "", contenders, lengths, std::array{to.rate}, kDeferralSeconds);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    LoadPoint& point = curves[i].points.front();
    const double share = trained.share_of(point.training);
    to.points.push_back({&choices[i], std::move(point), share});
  }
}

DeferralLoad measure_load(const RecipeSetup& setup, const Trained& trained,
                          const RequestLengths& lengths, double load, double rate) {
  DeferralLoad result{load, rate, {}};
  const std::span<const TrainingChoice> choices(kChoices);
  add_points(setup, trained, lengths, choices.first(1), result);
  add_points(setup, trained, lengths, choices.subspan(1), result);
  return result;
}

std::string load_text(const DeferralLoad& load) {
  return percent_text(load.load) + " of the capacity";
}

Table deferral_table(const DeferralLoad& load) {
  Table table{
      "At " + load_text(load) + ", " + number(load.rate) + " requests/s",
      {"", "latency, mean", "over none", "P99", "first token, P99", "between tokens, P99",
       "training"},
      {},
      "training: the iterations a second, as a share of those with nothing else to do. fill "
      "aims at 1.15 times the time between tokens without training."};
  const Summary& none = load.points.front().summary();
  for (const DeferralPoint& one : load.points) {
    const Summary& summary = one.summary();
    table.rows.push_back({one.choice->name, seconds_text(summary.whole.mean),
                          times_text(summary.whole.mean / none.whole.mean),
                          seconds_text(summary.whole.p99), seconds_text(summary.first_token.p99),
                          seconds_text(summary.between.p99), percent_text(one.trained)});
  }
  return table;
}

/// Draws a quantity of each load against the bound.
template <class Quantity>
std::vector<Series> by_bound(const std::vector<DeferralLoad>& loads, const Quantity& quantity) {
  std::vector<Series> all;
  for (const DeferralLoad& load : loads) {
    Series series{load_text(load), Series::Style::kLine, {}, false};
    for (const DeferralPoint& one : load.points) {
      if (one.choice->kind == TrainingKind::kDeferral) {
        series.points.emplace_back(one.choice->bound, quantity(one));
      }
    }
    all.push_back(std::move(series));
  }
  return all;
}

void add_figures(const std::vector<DeferralLoad>& loads, Report& report) {
  Figure latency = make_figure("Latency", "What requests pay for training.",
                               linear("deferral bound, iterations"), linear("mean latency, s"));
  latency.series =
      by_bound(loads, [](const DeferralPoint& one) { return one.summary().whole.mean; });
  Figure training =
      make_figure("Training", "What training gets beside requests.",
                  linear("deferral bound, iterations"), linear("share of training alone"));
  training.series = by_bound(loads, [](const DeferralPoint& one) { return one.trained; });
  report.figures = {std::move(latency), std::move(training)};
}

std::string finding_of(const DeferralLoad& load) {
  const double none = load.points.front().summary().whole.mean;
  std::string text = "At " + load_text(load) +
                     ", training as a share of training alone, and mean latency over that without "
                     "training: ";
  for (std::size_t i = 1; i < load.points.size(); ++i) {
    const DeferralPoint& one = load.points[i];
    text += std::string(i == 1 ? "" : "; ") + one.choice->name + " " + percent_text(one.trained) +
            " and " + times_text(one.summary().whole.mean / none);
  }
  return text + ".";
}

boost::json::object deferral_json(const DeferralLoad& load) {
  boost::json::object choices;
  for (const DeferralPoint& one : load.points) {
    boost::json::object figures = to_json(one.point);
    const Summary& summary = one.summary();
    figures["latency_mean"] = summary.whole.mean;
    figures["latency_p99"] = summary.whole.p99;
    figures["first_token_p99"] = summary.first_token.p99;
    figures["between_p99"] = summary.between.p99;
    figures["training_share"] = one.trained;
    choices[one.choice->name] = std::move(figures);
  }
  return {{"load", load.load}, {"rate", load.rate}, {"choices", std::move(choices)}};
}

}  // namespace

Report fineinfer_deferral(const RecipeSetup& setup) {
  const RecipeSetup here = with_rows(setup);
  Report report = begin_report(
      here, "fineinfer-deferral: fine-tuning beside requests",
      "Latency of Poisson requests and progress of fine-tuning, by the bound up to which a request "
      "waits for an iteration, as in FineInfer's deferred continuous batching.");
  const Trained trained = make_trained(here);
  const std::int32_t divisor = length_divisor(here, kAlpacaLike, kFineinferMostAlone);
  const RequestLengths lengths = divided(kAlpacaLike, divisor);
  const FullLoad full = measure_full_load(here, "full load, no training",
                                          with_policy(here, BatchPolicy::kFusion), lengths);
  report.facts.emplace_back("requests", lengths_text(lengths));
  report.facts.emplace_back("an iteration", "one sequence of " + std::to_string(kTrainedTokens) +
                                                " tokens, " + seconds_text(trained.alone.seconds) +
                                                " with nothing else to do");
  report.facts.emplace_back("capacity", number(full.requests_per_second) + " requests/s");
  std::vector<DeferralLoad> loads;
  boost::json::array data;
  for (const double load : kDeferralLoads) {
    loads.push_back(measure_load(here, trained, lengths, load, load * full.requests_per_second));
    report.tables.push_back(deferral_table(loads.back()));
    report.findings.push_back(finding_of(loads.back()));
    data.push_back(deferral_json(loads.back()));
  }
  add_figures(loads, report);
  report.data = {{"iteration_seconds", trained.alone.seconds},
                 {"capacity", to_json(full)},
                 {"loads", std::move(data)}};
  return report;
}

}  // namespace weft::measure
