#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/flover.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/padded_batches.h"
#include "weft/measure/recipes/recipes.h"
#include "weft/measure/recipes/rounds.h"

namespace weft::measure {
namespace {

// The mean interval, as a fraction of the time that one request takes alone. Most of the time some
// twenty requests are under way.
constexpr double kInterval = 0.05;

struct PolicyCase {
  std::string name;
  Lengths output;
};

struct Point {
  double batch = 0;
  double tokens_per_second = 0;
};

/// One run of each policy and each closed batch, one after the other.
struct PolicyRound {
  std::vector<PolicyFigures> policies;  ///< fusion comes first
  std::vector<Point> closed;            ///< batches that are kept full, beginning with one sequence

  [[nodiscard]] double most() const {
    return std::ranges::max(closed, {}, &Point::tokens_per_second).tokens_per_second;
  }
  /// Returns the throughput of a closed batch at this mean batch, interpolated between the two
  /// nearest measured ones.
  [[nodiscard]] double closed_at(double batch) const {
    const auto above =
        std::ranges::find_if(closed, [batch](const Point& one) { return one.batch >= batch; });
    if (above == closed.end()) return closed.back().tokens_per_second;
    if (above == closed.begin()) return above->tokens_per_second;
    const auto below = std::prev(above);
    const double part = (batch - below->batch) / (above->batch - below->batch);
    return below->tokens_per_second + part * (above->tokens_per_second - below->tokens_per_second);
  }

  /// Returns the policy's throughput divided by that of a closed batch with the same mean batch.
  [[nodiscard]] double of_closed(std::size_t policy) const {
    const PolicyFigures& one = policies[policy];
    return one.tokens_per_second / closed_at(one.batch);
  }
  /// Returns the policy's total time divided by fusion's.
  [[nodiscard]] double gain(std::size_t policy) const {
    return policies[policy].total / policies.front().total;
  }
  /// Returns the policy's total time divided by the time in which the fullest batch would compute
  /// all tokens.
  [[nodiscard]] double ceiling(std::size_t policy) const {
    const double tokens = policies.front().tokens_per_second * policies.front().total;
    return policies[policy].total * most() / tokens;
  }
};

struct CaseRun {
  PolicyCase what;
  double interval = 0;
  Rounds<PolicyRound> rounds;

  [[nodiscard]] const std::string& name(std::size_t policy) const {
    return rounds.first().policies[policy].policy;
  }
  [[nodiscard]] std::size_t policies() const { return rounds.first().policies.size(); }
  [[nodiscard]] std::size_t closed_batches() const { return rounds.first().closed.size(); }

  [[nodiscard]] double median(std::size_t policy, double PolicyFigures::* figure) const {
    return rounds.median([&](const PolicyRound& round) { return round.policies[policy].*figure; });
  }
  [[nodiscard]] Point closed(std::size_t place) const {
    return {rounds.median([&](const PolicyRound& round) { return round.closed[place].batch; }),
            rounds.median(
                [&](const PolicyRound& round) { return round.closed[place].tokens_per_second; })};
  }
};

std::vector<PolicyCase> cases_of(const RecipeSetup& setup) {
  const bool host = runs_on_host(setup.config);
  const std::int32_t long_one = scaled(setup, host ? 128 : 512, 8);
  return {{"even lengths", {Lengths::Kind::kUniform, std::max(1, long_one / 32), long_one, 0}},
          {"skewed lengths", {Lengths::Kind::kSkewed, 1, 2 * long_one, long_one / 4.0}}};
}

std::vector<Arrival> requests_of(const RecipeSetup& setup, const PolicyCase& what,
                                 double interval) {
  LoadShape shape;
  shape.per_second = 1 / interval;
  shape.requests = static_cast<std::size_t>(scaled(setup, kFloverRequests, 8));
  shape.prompt = {Lengths::Kind::kUniform, 4, 8, 0};
  shape.output = what.output;
  return draw(shape, setup.seed);
}

/// Measures the throughput of a batch that always has this many sequences. So many requests are
/// played that the end, where the batch empties, hardly counts.
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

/// Returns the figures of the same requests in batches that keep computing ended sequences.
PolicyFigures padded(const RecipeSetup& setup, const std::vector<Arrival>& requests,
                     const EngineRun& by_requests) {
  const auto rows = static_cast<std::size_t>(setup.config.max_rows);
  const Summary summary =
      summarize(padded_batches(requests, rows, StepCosts::of(by_requests.steps)));
  PolicyFigures figures;
  figures.policy = kPaddedBatches;
  figures.total = summary.seconds;
  figures.tokens_per_second = summary.tokens_per_second();
  figures.latency = summary.whole.mean;
  figures.first_token = summary.whole.mean;  // all outputs return at the end
  return figures;
}

std::vector<Config> policies_of(const RecipeSetup& setup, double interval) {
  Config window = with_policy(setup, BatchPolicy::kWindow);
  window.window = std::chrono::milliseconds(std::max(1L, std::lround(1e3 * interval * 4)));
  std::vector<Config> all = {with_policy(setup, BatchPolicy::kFusion),
                             with_policy(setup, BatchPolicy::kStatic), window};
  if (has_instances(setup)) {
    all.push_back(with_policy(setup, BatchPolicy::kInstances));
    all.push_back(instances_for(setup, kFloverRequests));
  }
  return all;
}

void play_policy(const RecipeSetup& setup, const std::string& name, const Config& config,
                 const std::vector<Arrival>& requests, PolicyRound& round) {
  const EngineRun run = play(setup, name + ", " + policy_text(config), config, {requests, 0});
  round.policies.push_back(figures_of(config, run));
  if (config.policy == BatchPolicy::kStatic) {
    round.policies.push_back(padded(setup, requests, run));
  }
}

/// Measures fusion between the two closed batches that are nearest to its mean batch, so that other
/// work of the machine affects them alike.
PolicyRound measure_round(const RecipeSetup& setup, const std::string& name,
                          const std::vector<Arrival>& requests, double interval) {
  PolicyRound round;
  const std::vector<Config> policies = policies_of(setup, interval);
  const std::int32_t rows = setup.config.max_rows;
  std::int32_t users = 1;
  for (; 2 * users < rows; users *= 2) round.closed.push_back(closed_batch(setup, requests, users));
  play_policy(setup, name, policies.front(), requests, round);
  for (; users < rows; users *= 2) round.closed.push_back(closed_batch(setup, requests, users));
  round.closed.push_back(closed_batch(setup, requests, rows));
  std::ranges::sort(round.closed, {}, &Point::batch);
  for (std::size_t i = 1; i < policies.size(); ++i) {
    play_policy(setup, name, policies[i], requests, round);
  }
  return round;
}

CaseRun measure_case(const RecipeSetup& setup, const PolicyCase& what) {
  CaseRun run;
  run.what = what;
  const auto mean = static_cast<std::int32_t>(what.output.kind == Lengths::Kind::kSkewed
                                                  ? what.output.mean
                                                  : (what.output.low + what.output.high) / 2.0);
  run.interval = kInterval * alone_seconds(setup, 6, std::max(1, mean));
  const std::vector<Arrival> requests = requests_of(setup, what, run.interval);
  for (std::int32_t i = 0; i < setup.repeats; ++i) {
    const std::string name = round_part(setup, i) + what.name;
    run.rounds.add(measure_round(setup, name, requests, run.interval));
  }
  return run;
}

bool is_batched(const std::string& policy) {
  return policy != kPaddedBatches && !policy.ends_with("instances");
}

Table case_table(const CaseRun& run) {
  Table table{
      "Policies: " + run.what.name,
      {"policy", "total", "tokens/s", "mean batch", "of a closed batch", "latency", "first token",
       "fusion gains", "at most"},
      {},
      "Medians, with the least and the most where there are several rounds. Of a closed batch: "
      "throughput over that of a batch that is kept full, at the same mean batch. Fusion gains: "
      "the policy's total time over fusion's; at most: over what the fullest batch would take for "
      "all tokens, the ceiling that this machine sets. All policies are ours; in static batches "
      "a row that ends is computed no longer. Padded is computed from the costs of their steps: "
      "batches whose rows are computed until the longest ends, as request-level engines do."};
  for (std::size_t i = 0; i < run.policies(); ++i) {
    const bool batched = is_batched(run.name(i));
    const auto of_closed =
        run.rounds.each([i](const PolicyRound& round) { return round.of_closed(i); });
    const auto gains = run.rounds.each([i](const PolicyRound& round) { return round.gain(i); });
    table.rows.push_back(
        {run.name(i), seconds_text(run.median(i, &PolicyFigures::total)),
         number(run.median(i, &PolicyFigures::tokens_per_second)),
         batched ? number(run.median(i, &PolicyFigures::batch)) : "",
         batched ? with_range(of_closed, number) : "",
         seconds_text(run.median(i, &PolicyFigures::latency)),
         seconds_text(run.median(i, &PolicyFigures::first_token)), with_range(gains, times_text),
         times_text(
             run.rounds.median([i](const PolicyRound& round) { return round.ceiling(i); }))});
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
  for (std::size_t i = 0; i < run.closed_batches(); ++i) {
    const Point point = run.closed(i);
    table.rows.push_back({number(point.batch), number(point.tokens_per_second),
                          times_text(point.tokens_per_second / run.closed(0).tokens_per_second)});
  }
  return table;
}

Figure figure_of(const CaseRun& run) {
  Figure figure = make_figure("Throughput by batch: " + run.what.name,
                              "The line is a batch that is kept full, the machine's own ceiling.",
                              logarithmic("mean batch"), linear("output tokens a second"));
  Series closed;
  closed.name = "closed batch";
  for (std::size_t i = 0; i < run.closed_batches(); ++i) {
    const Point point = run.closed(i);
    closed.points.emplace_back(point.batch, point.tokens_per_second);
  }
  figure.series.push_back(std::move(closed));
  for (std::size_t i = 0; i < run.policies(); ++i) {
    if (!is_batched(run.name(i))) continue;
    Series series{run.name(i), Series::Style::kPoints, {}, false};
    for (const PolicyRound& round : run.rounds.all()) {
      const PolicyFigures& one = round.policies[i];
      series.points.emplace_back(one.batch, one.tokens_per_second);
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

std::vector<std::string> findings_of(const CaseRun& run) {
  const auto of_closed =
      run.rounds.each([](const PolicyRound& round) { return round.of_closed(0); });
  std::vector<std::string> findings = {run.what.name + ": fusion gives " +
                                       with_range(of_closed, number) +
                                       " of a closed batch's throughput at its mean batch of " +
                                       number(run.median(0, &PolicyFigures::batch)) + "."};
  for (std::size_t i = 1; i < run.policies(); ++i) {
    const auto gains = run.rounds.each([i](const PolicyRound& round) { return round.gain(i); });
    const double most =
        run.rounds.median([i](const PolicyRound& round) { return round.ceiling(i); });
    findings.push_back(run.what.name + ": " + with_range(gains, times_text) + " over " +
                       run.name(i) + ", where the machine allows " + times_text(most) +
                       " at most.");
  }
  return findings;
}

boost::json::object data_of(const PolicyRound& round) {
  boost::json::array policies;
  for (const PolicyFigures& one : round.policies) policies.push_back(to_json(one));
  boost::json::array closed;
  for (const Point& one : round.closed) {
    closed.push_back(
        {{"mean_batch", one.batch}, {"output_tokens_per_second", one.tokens_per_second}});
  }
  return {{"policies", std::move(policies)}, {"closed_batches", std::move(closed)}};
}

boost::json::object data_of(const CaseRun& run) {
  boost::json::array rounds;
  for (const PolicyRound& round : run.rounds.all()) rounds.push_back(data_of(round));
  return {
      {"case", run.what.name}, {"interval_seconds", run.interval}, {"rounds", std::move(rounds)}};
}

}  // namespace

Report policies(const RecipeSetup& setup) {
  const RecipeSetup here = with_rows(setup);
  Report report = begin_report(here, "Batch policies over one load",
                               "32 requests of a Poisson process with random lengths, under each "
                               "policy of this engine, beside batches that are kept full.");
  report.facts.emplace_back("rounds", std::to_string(here.repeats));
  boost::json::array data;
  for (const PolicyCase& what : cases_of(here)) {
    const CaseRun run = measure_case(here, what);
    report.facts.emplace_back(what.name, "outputs " + to_string(what.output) +
                                             ", prompts 4..8, a mean interval of " +
                                             seconds_text(run.interval));
    report.tables.push_back(case_table(run));
    report.tables.push_back(ceiling_of(run));
    report.figures.push_back(figure_of(run));
    for (std::string& finding : findings_of(run)) report.findings.push_back(std::move(finding));
    data.push_back(data_of(run));
  }
  report.data = std::move(data);
  return report;
}

}  // namespace weft::measure
