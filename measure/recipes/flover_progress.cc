#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/flover.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

// The windows of the window policy in intervals. An interval is 500 ms in the paper, so they are 2
// to 16 s there.
constexpr std::array kProgressWindows = {4, 8, 16, 32};

struct PolicyRun {
  PolicyFigures figures;
  std::vector<std::pair<double, double>> progress;
  double half = 0;  ///< seconds until half of all tokens had come
};

std::vector<Config> progress_policies(const RecipeSetup& setup, double interval) {
  std::vector<Config> all = {with_policy(setup, BatchPolicy::kFusion)};
  for (const int intervals : kProgressWindows) {
    Config config = with_policy(setup, BatchPolicy::kWindow);
    config.window =
        std::chrono::milliseconds(std::max(1L, std::lround(1e3 * interval * intervals)));
    all.push_back(config);
  }
  all.push_back(with_policy(setup, BatchPolicy::kStatic));
  if (has_instances(setup)) all.push_back(instances_for(setup, kFloverRequests));
  return all;
}

PolicyRun measure_policy(const RecipeSetup& setup, const Config& config, const Load& load) {
  const EngineRun run = play(setup, policy_text(config), config, load);
  PolicyRun result{figures_of(config, run), tokens_over_time(run.outcomes), 0};
  result.half = result.progress[result.progress.size() / 2].first;
  return result;
}

Table progress_table(const std::vector<PolicyRun>& runs) {
  Table table{
      "How the tokens came",
      {"policy", "half of them", "all of them", "latency", "first token", "mean batch"},
      {},
      "Windows are our re-implementation of dynamic batching, static of request-level "
      "batching, instances of one model instance a request. Flover reports that dynamic "
      "batching delays the requests of a window by 300 % (section VI.E); of its four windows "
      "the text names one, 16 s, which is the longest here."};
  for (const PolicyRun& run : runs) {
    table.rows.push_back({run.figures.policy, seconds_text(run.half),
                          seconds_text(run.figures.total), seconds_text(run.figures.latency),
                          seconds_text(run.figures.first_token), number(run.figures.batch)});
  }
  return table;
}

/// The figures of table I and section VI.E: the launches, and the number of threads.
Table launches_table(const RecipeSetup& setup, const std::vector<PolicyRun>& runs) {
  const std::size_t ops = setup.model.opened.program->decode.ops.size();
  Table table{
      "Launches and threads for 32 requests",
      {"policy", "steps", "launches", "threads"},
      {},
      "A launch is one op of the model over all rows of its batch, " + std::to_string(ops) +
          " a step; that fewer steps launch less is so by construction. Threads are all of "
          "the process. Flover's own, for 32 requests at once (table I): 1 thread and 1 launch "
          "where FasterTransformer has 32 of each."};
  for (const PolicyRun& run : runs) {
    table.rows.push_back({run.figures.policy, std::to_string(run.figures.iterations),
                          std::to_string(run.figures.iterations * ops),
                          std::to_string(run.figures.threads)});
  }
  return table;
}

}  // namespace

Report flover_progress(const RecipeSetup& setup) {
  const FloverLengths lengths = flover_lengths(setup);
  const double alone = alone_seconds(setup, lengths.prompt, lengths.output);
  const double interval = alone * kFloverInterval;
  const Load load{at_interval(scaled(setup, kFloverRequests, 4), interval, lengths), 0};
  std::vector<PolicyRun> runs;
  for (const Config& config : progress_policies(setup, interval)) {
    runs.push_back(measure_policy(setup, config, load));
  }
  Report report = begin_report(setup, "Tokens over time (Flover, figure 7 and table I)",
                               "The same requests under each policy: how fast the tokens of all of "
                               "them come, and what it takes to launch them.");
  report.facts.emplace_back("requests", std::to_string(load.arrivals.size()) + " of " +
                                            std::to_string(lengths.prompt) + " + " +
                                            std::to_string(lengths.output) + " tokens");
  report.facts.emplace_back("one alone", seconds_text(alone));
  report.facts.emplace_back("interval", seconds_text(interval));
  report.tables = {progress_table(runs), launches_table(setup, runs)};
  Figure figure =
      make_figure("Tokens that have come", "A curve further left is a policy that answers sooner.",
                  linear("seconds"), linear("tokens of all requests"));
  boost::json::array data;
  for (PolicyRun& run : runs) {
    data.push_back(to_json(run.figures));
    figure.series.push_back({run.figures.policy, Series::Style::kStep, std::move(run.progress)});
  }
  report.figures.push_back(std::move(figure));
  const PolicyRun& fusion = runs.front();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    report.findings.push_back(runs[i].figures.policy + ": half of the tokens after " +
                              times_text(runs[i].half / fusion.half) +
                              " the time of fusion, latency " +
                              times_text(runs[i].figures.latency / fusion.figures.latency) + ".");
  }
  report.data = {
      {"alone_seconds", alone}, {"interval_seconds", interval}, {"runs", std::move(data)}};
  return report;
}

}  // namespace weft::measure
