#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/recipe_runs.h"
#include "weft/measure/recipes/flover.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

// The mean interval, of what one request takes alone: at most times some twenty are under way.
constexpr double kInterval = 0.05;

struct Case {
  std::string name;
  Lengths output;
};

struct Point {
  double batch = 0;
  double tokens_per_second = 0;
};

struct CaseRun {
  Case what;
  double interval = 0;
  std::vector<PolicyFigures> policies;  ///< fusion first
  std::vector<Point> closed;            ///< batches that are kept full, from one sequence up

  [[nodiscard]] double most() const {
    return std::ranges::max(closed, {}, &Point::tokens_per_second).tokens_per_second;
  }
};

std::vector<Case> cases_of(const RecipeSetup& setup) {
  const bool host = setup.config.device == "cpu";
  const std::int32_t long_one = scaled(setup, host ? 128 : 512, 8);
  return {{"even lengths", {Lengths::Kind::kUniform, std::max(1, long_one / 32), long_one, 0}},
          {"skewed lengths", {Lengths::Kind::kSkewed, 1, 2 * long_one, long_one / 4.0}}};
}

std::vector<Arrival> requests_of(const RecipeSetup& setup, const Case& what, double interval) {
  LoadShape shape;
  shape.per_second = 1 / interval;
  shape.requests = static_cast<std::size_t>(scaled(setup, kFloverRequests, 8));
  shape.prompt = {Lengths::Kind::kUniform, 4, 8, 0};
  shape.output = what.output;
  return draw(shape, setup.seed);
}

/// Throughput of a batch that always has so many sequences: the requests over and over, so many of
/// them that the end, where it runs empty, hardly counts.
Point closed_batch(const RecipeSetup& setup, const std::vector<Arrival>& drawn,
                   std::int32_t users) {
  constexpr std::int32_t kForEach = 4;
  constexpr std::int32_t kLeast = 8;
  std::vector<Arrival> requests;
  for (std::int32_t i = 0; i < std::max(kLeast, kForEach * users); ++i) {
    requests.push_back(drawn[static_cast<std::size_t>(i) % drawn.size()]);
    requests.back().at = 0;
  }
  const Config config = with_policy(setup, BatchPolicy::kFusion);
  const EngineRun run = play(setup, "a closed batch of " + std::to_string(users), config,
                             {std::move(requests), users});
  const PolicyFigures figures = figures_of(config, run);
  return {figures.batch, figures.tokens_per_second};
}

std::vector<Config> policies_of(const RecipeSetup& setup, double interval) {
  Config window = with_policy(setup, BatchPolicy::kWindow);
  window.window = std::chrono::milliseconds(std::lround(1e3 * interval * 4));
  std::vector<Config> all = {with_policy(setup, BatchPolicy::kFusion),
                             with_policy(setup, BatchPolicy::kStatic), window};
  if (has_instances(setup)) {
    all.push_back(with_policy(setup, BatchPolicy::kInstances));
    all.push_back(instances_for(setup, kFloverRequests));
  }
  return all;
}

CaseRun measure_case(const RecipeSetup& setup, const Case& what) {
  CaseRun run;
  run.what = what;
  const auto mean = static_cast<std::int32_t>(what.output.kind == Lengths::Kind::kSkewed
                                                  ? what.output.mean
                                                  : (what.output.low + what.output.high) / 2.0);
  run.interval = kInterval * alone_seconds(setup, 6, std::max(1, mean));
  const std::vector<Arrival> requests = requests_of(setup, what, run.interval);
  for (const Config& config : policies_of(setup, run.interval)) {
    const std::string part = what.name + ", " + policy_text(config);
    run.policies.push_back(figures_of(config, play(setup, part, config, {requests, 0})));
  }
  for (std::int32_t users = 1; users < setup.config.max_rows; users *= 2) {
    run.closed.push_back(closed_batch(setup, requests, users));
  }
  run.closed.push_back(closed_batch(setup, requests, setup.config.max_rows));
  std::ranges::sort(run.closed, {}, &Point::batch);
  return run;
}

/// Of closed batches at the same mean batch: along the line between the two nearest.
double closed_at(const std::vector<Point>& closed, double batch) {
  const auto above =
      std::ranges::find_if(closed, [batch](const Point& one) { return one.batch >= batch; });
  if (above == closed.end()) return closed.back().tokens_per_second;
  if (above == closed.begin()) return above->tokens_per_second;
  const auto below = std::prev(above);
  const double part = (batch - below->batch) / (above->batch - below->batch);
  return below->tokens_per_second + part * (above->tokens_per_second - below->tokens_per_second);
}

Table table_of(const CaseRun& run) {
  Table table{
      "Policies: " + run.what.name,
      {"policy", "total", "tokens/s", "mean batch", "of a closed batch", "latency", "first token",
       "fusion gains", "at most"},
      {},
      "Of a closed batch: throughput over that of a batch that is kept full, at the same mean "
      "batch. Fusion gains: the policy's total time over fusion's; at most: over what the "
      "fullest batch would take for all tokens, the ceiling that this machine sets. All "
      "policies are ours; in static batches a row that ends is computed no longer."};
  const PolicyFigures& fusion = run.policies.front();
  const double tokens = fusion.tokens_per_second * fusion.total;
  for (const PolicyFigures& one : run.policies) {
    const bool batches = !one.policy.ends_with("instances");
    table.rows.push_back(
        {one.policy, seconds_text(one.total), number(one.tokens_per_second), number(one.batch),
         batches ? number(one.tokens_per_second / closed_at(run.closed, one.batch)) : "",
         seconds_text(one.latency), seconds_text(one.first_token),
         times_text(one.total / fusion.total), times_text(one.total / (tokens / run.most()))});
  }
  return table;
}

Table ceiling_of(const CaseRun& run) {
  Table table{
      "Closed batches: " + run.what.name,
      {"mean batch", "tokens/s", "over one alone"},
      {},
      "What the device gains from batches at all: the same requests, always as many of them "
      "at once."};
  for (const Point& one : run.closed) {
    table.rows.push_back(
        {number(one.batch), number(one.tokens_per_second),
         times_text(one.tokens_per_second / run.closed.front().tokens_per_second)});
  }
  return table;
}

Figure figure_of(const CaseRun& run) {
  Figure figure = make_figure("Throughput by batch: " + run.what.name,
                              "The line is a batch that is kept full, the machine's own ceiling.",
                              logarithmic("mean batch"), linear("output tokens a second"));
  Series closed;
  closed.name = "closed batch";
  for (const Point& one : run.closed) {
    closed.points.emplace_back(one.batch, one.tokens_per_second);
  }
  figure.series.push_back(std::move(closed));
  for (const PolicyFigures& one : run.policies) {
    if (one.policy.ends_with("instances")) continue;
    figure.series.push_back(
        {one.policy, Series::Style::kPoints, {{one.batch, one.tokens_per_second}}, false});
  }
  return figure;
}

std::vector<std::string> findings_of(const CaseRun& run) {
  const PolicyFigures& fusion = run.policies.front();
  const double ideal = fusion.tokens_per_second * fusion.total / run.most();
  std::vector<std::string> findings = {
      run.what.name + ": fusion gives " +
      number(fusion.tokens_per_second / closed_at(run.closed, fusion.batch)) +
      " of a closed batch's throughput at its mean batch of " + number(fusion.batch) + "."};
  for (std::size_t i = 1; i < run.policies.size(); ++i) {
    const PolicyFigures& one = run.policies[i];
    findings.push_back(run.what.name + ": " + times_text(one.total / fusion.total) + " over " +
                       one.policy + ", where the machine allows " + times_text(one.total / ideal) +
                       " at most.");
  }
  return findings;
}

boost::json::object data_of(const CaseRun& run) {
  boost::json::array policies;
  for (const PolicyFigures& one : run.policies) policies.push_back(to_json(one));
  boost::json::array closed;
  for (const Point& one : run.closed) {
    closed.push_back(
        {{"mean_batch", one.batch}, {"output_tokens_per_second", one.tokens_per_second}});
  }
  return {{"case", run.what.name},
          {"interval_seconds", run.interval},
          {"policies", std::move(policies)},
          {"closed_batches", std::move(closed)}};
}

}  // namespace

Report policies(const RecipeSetup& setup) {
  const RecipeSetup here = with_rows(setup);
  Report report = begin_report(here, "Batch policies over one load",
                               "32 requests of a Poisson process with random lengths, under each "
                               "policy of this engine, beside batches that are kept full.");
  boost::json::array data;
  for (const Case& what : cases_of(here)) {
    const CaseRun run = measure_case(here, what);
    report.facts.emplace_back(what.name, "outputs " + to_string(what.output) +
                                             ", prompts 4..8, a mean interval of " +
                                             seconds_text(run.interval));
    report.tables.push_back(table_of(run));
    report.tables.push_back(ceiling_of(run));
    report.figures.push_back(figure_of(run));
    for (std::string& finding : findings_of(run)) report.findings.push_back(std::move(finding));
    data.push_back(data_of(run));
  }
  report.data = std::move(data);
  return report;
}

}  // namespace weft::measure
