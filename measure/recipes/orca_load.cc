// Orca's experiment: iteration-level scheduling against request-level scheduling.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/padded_batches.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

// The lengths of Orca's synthetic trace.
constexpr RequestLengths kTheirs{{Lengths::Kind::kUniform, 32, 512, 272},
                                 {Lengths::Kind::kUniform, 1, 128, 64.5}};
// Lengths for the host. There a prompt's token costs as much as a token that continues a sequence;
// on a GPU it costs next to nothing. With shorter prompts the steps of outputs dominate on both.
constexpr RequestLengths kOnHost{{Lengths::Kind::kUniform, 4, 64, 34}, kTheirs.output};
// Seconds that an average request may take alone on the host device, so that a recipe takes
// minutes.
constexpr double kOrcaMostAlone = 2;
// Seconds for each rate. They bound the queue where the rate exceeds the capacity.
constexpr double kOrcaSeconds = 5;
constexpr std::array kOrcaLoads = {0.25, 0.5, 0.75,
                                   1.0,  1.4, 2.0};  // fractions of the closed batch's throughput

struct Alone {
  double seconds = 0;
  double normalized = 0;
};

Alone measure_alone(const RecipeSetup& setup, const RequestLengths& lengths) {
  const auto output = static_cast<std::int32_t>(std::lround(lengths.output.mean));
  const double seconds =
      alone_seconds(setup, static_cast<std::int32_t>(std::lround(lengths.prompt.mean)), output);
  return {seconds, seconds / output};
}

Config config_of(const RecipeSetup& setup, BatchPolicy policy) {
  Config config = with_policy(setup, policy);
  config.admission = AdmissionMode::kReserve;
  return config;
}

/// Returns the loads of the static curve, as batches would serve them that keep computing ended
/// sequences.
LoadCurve padded_curve(const LoadCurve& measured, std::size_t rows) {
  LoadCurve curve{kPaddedBatches, {}};
  std::vector<StepRecord> steps;
  for (const LoadPoint& point : measured.points) {
    steps.insert(steps.end(), point.steps.begin(), point.steps.end());
  }
  const StepCosts costs = StepCosts::of(steps);
  for (const LoadPoint& point : measured.points) {
    LoadPoint computed;
    computed.rate = point.rate;
    computed.arrivals = point.arrivals;
    computed.summary = summarize(padded_batches(point.arrivals, rows, costs));
    curve.points.push_back(std::move(computed));
  }
  return curve;
}

Table loads_table(const std::vector<LoadCurve>& curves) {
  Table table{"Load and latency",
              {"policy", "offered, req/s", "served, req/s", "tokens/s", "normalized p50", "p90",
               "mean batch"},
              {},
              {}};
  for (const LoadCurve& curve : curves) {
    for (const LoadPoint& point : curve.points) {
      const Summary& summary = point.summary;
      table.rows.push_back(
          {curve.name, number(point.rate), number(summary.requests_per_second()),
           number(summary.tokens_per_second()), seconds_text(summary.normalized.p50),
           seconds_text(summary.normalized.p90), point.batch > 0 ? number(point.batch) : "-"});
    }
  }
  table.note =
      "Normalized latency is end-to-end / output tokens. static and window are our "
      "re-implementation of FasterTransformer's scheduling by requests, milder than theirs: ended "
      "sequences leave the step and their answers return at once. The padded line computes, from "
      "the costs of the measured steps, batches as Orca describes them: ended sequences are "
      "computed on, and all return with the longest.";
  return table;
}

Figure load_figure(const std::vector<LatencyCurve>& curves, double alone) {
  Figure figure{"Median normalized latency against throughput",
                "Further right at the same height is more work at the same latency.",
                {"served, requests/s", false},
                {"median normalized latency, s/token", true},
                {}};
  double most = 0;
  for (const LatencyCurve& curve : curves) {
    Series series{curve.name, Series::Style::kLine, curve.points, false};
    for (const auto& [x, y] : curve.points) most = std::max(most, x);
    figure.series.push_back(std::move(series));
  }
  figure.series.push_back({"twice one request alone",
                           Series::Style::kLine,
                           {{0, 2 * alone}, {most, 2 * alone}},
                           false});
  return figure;
}

/// The measurements that the report is made of.
struct Measured {
  std::int32_t divisor = 1;
  RequestLengths lengths;
  Alone alone;
  FullLoad full;
  std::vector<LoadCurve> curves;  ///< fusion comes first

  [[nodiscard]] std::vector<LatencyCurve> latencies() const {
    std::vector<LatencyCurve> all;
    for (const LoadCurve& curve : curves) {
      LatencyCurve points{curve.name, {}};
      for (const LoadPoint& point : curve.points) {
        points.points.emplace_back(point.summary.requests_per_second(),
                                   point.summary.normalized.p50);
      }
      all.push_back(std::move(points));
    }
    return all;
  }
};

Measured measure_loads(const RecipeSetup& setup) {
  Measured all;
  const RequestLengths& theirs = runs_on_host(setup.config) ? kOnHost : kTheirs;
  all.divisor = length_divisor(setup, theirs, kOrcaMostAlone);
  all.lengths = divided(theirs, all.divisor);
  all.alone = measure_alone(setup, all.lengths);
  const Config fusion = config_of(setup, BatchPolicy::kFusion);
  const Config by_requests = config_of(setup, BatchPolicy::kStatic);
  Config window = config_of(setup, BatchPolicy::kWindow);
  window.window = std::chrono::milliseconds(std::max(1L, std::lround(500 * all.alone.seconds)));
  all.full = measure_full_load(setup, "closed batch", fusion, all.lengths);
  std::vector<double> rates;
  for (const double load : kOrcaLoads) rates.push_back(load * all.full.requests_per_second);
  std::vector<Contender> contenders;
  for (const Config& config : {fusion, by_requests, window}) {
    contenders.push_back({policy_text(config), config});
  }
  all.curves = sweep(setup, "", contenders, all.lengths, rates, kOrcaSeconds);
  all.curves.push_back(
      padded_curve(all.curves[1], static_cast<std::size_t>(setup.config.max_rows)));
  return all;
}

/// Adds to the report how the load was made.
void tell_load(const Measured& all, Report& report) {
  report.facts.emplace_back("requests", lengths_text(all.lengths) + ", Poisson arrivals");
  report.facts.emplace_back("Orca's requests", lengths_text(kTheirs));
  report.facts.emplace_back("capacity", number(all.full.requests_per_second) + " requests/s, " +
                                            number(all.full.tokens_per_second) +
                                            " tokens/s: a closed batch at full rows");
  report.facts.emplace_back("one request alone", seconds_text(all.alone.seconds) + ", normalized " +
                                                     seconds_text(all.alone.normalized));
}

boost::json::object load_data(const Measured& all) {
  boost::json::object curves;
  for (const LoadCurve& curve : all.curves) {
    boost::json::array points;
    for (const LoadPoint& point : curve.points) points.push_back(to_json(point));
    curves[curve.name] = std::move(points);
  }
  return {{"lengths_divided_by", all.divisor},
          {"alone_seconds", all.alone.seconds},
          {"alone_normalized", all.alone.normalized},
          {"capacity", to_json(all.full)},
          {"curves", std::move(curves)}};
}

}  // namespace

Report orca_load(const RecipeSetup& setup) {
  const RecipeSetup here = with_rows(setup);
  Report report = begin_report(
      here, "orca-load: scheduling by iterations and by requests",
      "Throughput against median normalized latency over Poisson rates, as in Orca's evaluation.");
  const Measured all = measure_loads(here);
  tell_load(all, report);
  const auto latencies = all.latencies();
  const AtEqualLatency equal(latencies, all.alone.normalized);
  report.tables = {loads_table(all.curves),
                   equal.table(latencies, "Throughput at the same median normalized latency")};
  report.tables.back().note +=
      " Theirs is 36.9x over FasterTransformer, at twice the latency of one alone (GPT-3 175B on "
      "16 GPUs): it holds their pipeline without microbatches and a faster engine too.";
  report.figures = {load_figure(latencies, all.alone.normalized)};
  for (std::size_t other = 1; other < latencies.size(); ++other) {
    report.findings.push_back(equal.finding(latencies, other));
  }
  boost::json::object data = load_data(all);
  data["at_equal_latency"] = equal.json(latencies);
  report.data = std::move(data);
  return report;
}

}  // namespace weft::measure
