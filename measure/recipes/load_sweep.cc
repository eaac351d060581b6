#include "weft/measure/recipes/load_sweep.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "weft/gpu/device_info.h"
#include "weft/measure/engine/recipe_runs.h"

namespace weft::measure {
namespace {

// Bounds on the requests at a rate: with fewer the median is not stable, and more do not change it.
constexpr double kLeastRequests = 24;
constexpr double kMostRequests = 200;
// The fewest requests of a scaled load, so that there are a median and a tail at any scale.
constexpr std::int32_t kLeastScaled = 4;
constexpr std::int32_t kRoundsOfRows = 3;
constexpr std::int32_t kRows = 32;

std::int32_t part_of(std::int32_t tokens, std::int32_t divisor) {
  return std::max(1, tokens / divisor);
}

Lengths divided(const Lengths& lengths, std::int32_t divisor) {
  return {lengths.kind, part_of(lengths.low, divisor), part_of(lengths.high, divisor),
          std::max(1.0, lengths.mean / divisor)};
}

std::int32_t mean_of(const Lengths& lengths) {
  return lengths.kind == Lengths::Kind::kSkewed ? static_cast<std::int32_t>(lengths.mean)
                                                : std::midpoint(lengths.low, lengths.high);
}

std::int64_t context_of(const RecipeSetup& setup) {
  const std::int64_t known = setup.model.opened.program->context;
  return setup.config.max_context > 0 ? std::min(known, setup.config.max_context) : known;
}

/// Draws a Poisson process and scales it so that its requests span exactly the time that the rate
/// implies. Without scaling, the rate of a few dozen requests is off by a fifth.
std::vector<Arrival> draw_at_rate(const LoadShape& shape, std::uint64_t seed) {
  std::vector<Arrival> arrivals = draw(shape, seed);
  const double drawn = arrivals.back().at;
  const double asked = static_cast<double>(arrivals.size() - 1) / shape.per_second;
  for (Arrival& one : arrivals) one.at *= asked / drawn;
  return arrivals;
}

/// Returns the mean batch without the run's end, when no request waits for a free row.
double batch_while_some_wait(const EngineRun& run) {
  double last_begin = 0;
  for (const Outcome& one : run.outcomes) {
    last_begin = std::max(last_begin, one.began + first_token_of(one));
  }
  std::vector<StepRecord> steps(run.steps);
  std::erase_if(steps, [&](const StepRecord& step) {
    return std::chrono::duration<double>(step.began - run.began).count() > last_begin;
  });
  return mean_batch(steps);
}

}  // namespace

std::string lengths_text(const RequestLengths& lengths) {
  return "prompts of " + to_string(lengths.prompt) + " and outputs of " +
         to_string(lengths.output) + " tokens";
}

RequestLengths divided(const RequestLengths& lengths, std::int32_t divisor) {
  return {divided(lengths.prompt, divisor), divided(lengths.output, divisor)};
}

std::int32_t length_divisor(const RecipeSetup& setup, const RequestLengths& lengths,
                            double seconds) {
  std::int32_t divisor = 1;
  while (divided(lengths, divisor).longest() > context_of(setup)) divisor *= 2;
  if (setup.config.device != kHostDevice) return divisor;
  const RequestLengths fitting = divided(lengths, divisor);
  double alone = alone_seconds(setup, mean_of(fitting.prompt), mean_of(fitting.output));
  for (; alone > seconds; alone /= 2) divisor *= 2;
  return divisor;
}

RecipeSetup with_rows(const RecipeSetup& setup) {
  RecipeSetup all(setup);
  if (all.config.max_rows == 0) all.config.max_rows = kRows;
  return all;
}

FullLoad measure_full_load(const RecipeSetup& setup, const std::string& part, const Config& config,
                           const RequestLengths& lengths) {
  LoadShape shape;
  shape.process = Process::kAtOnce;
  shape.requests =
      static_cast<std::size_t>(scaled(setup, kRoundsOfRows * setup.config.max_rows, kLeastScaled));
  shape.prompt = lengths.prompt;
  shape.output = lengths.output;
  const EngineRun run = play(setup, part, config, {draw(shape, setup.seed), 0});
  const Summary summary = summarize(run.outcomes);
  return {summary.requests_per_second(), summary.tokens_per_second(), batch_while_some_wait(run)};
}

std::vector<LoadCurve> sweep(const RecipeSetup& setup, const std::string& part,
                             std::span<const Contender> contenders, const RequestLengths& lengths,
                             std::span<const double> rates, double seconds) {
  std::vector<LoadCurve> curves;
  for (const Contender& one : contenders) curves.push_back({one.name, {}});
  for (const double rate : rates) {
    const double requests = std::clamp(std::round(rate * seconds), kLeastRequests, kMostRequests);
    LoadShape shape;
    shape.per_second = rate;
    shape.requests =
        static_cast<std::size_t>(scaled(setup, static_cast<std::int32_t>(requests), kLeastScaled));
    shape.prompt = lengths.prompt;
    shape.output = lengths.output;
    const std::vector<Arrival> arrivals = draw_at_rate(shape, setup.seed);
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      EngineRun run = play(setup, part + contenders[i].name + ", " + number(rate) + " requests/s",
                           contenders[i].config, {arrivals, 0}, {}, contenders[i].training);
      curves[i].points.push_back({rate, summarize(run.outcomes), mean_batch(run.steps), arrivals,
                                  std::move(run.steps), run.training});
    }
  }
  return curves;
}

std::optional<double> largest_within(const std::vector<std::pair<double, double>>& curve,
                                     double latency) {
  std::optional<double> largest;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const auto [x, y] = curve[i];
    if (y <= latency) {
      largest = x;
      continue;
    }
    if (i == 0) return std::nullopt;
    const auto [before_x, before_y] = curve[i - 1];
    return before_x + (x - before_x) * (latency - before_y) / (y - before_y);
  }
  return largest;
}

AtEqualLatency::AtEqualLatency(const std::vector<LatencyCurve>& curves, double alone) {
  for (const double times : {2.0, 3.0, 5.0, 10.0}) {
    Row row{times, {}};
    for (const LatencyCurve& curve : curves) {
      row.most.push_back(largest_within(curve.points, times * alone));
    }
    rows.push_back(std::move(row));
  }
}

std::string AtEqualLatency::finding(const std::vector<LatencyCurve>& curves,
                                    std::size_t other) const {
  const std::string names = curves[0].name + " against " + curves[other].name;
  for (const Row& row : rows) {
    if (!row.most[0] || !row.most[other]) continue;
    return names + ": " + times_text(*row.most[0] / *row.most[other]) +
           " the requests a second at the same normalized latency, " + number(row.times) +
           " times that of one request alone (" + number(*row.most[0]) + " and " +
           number(*row.most[other]) + ").";
  }
  return names + ": no latency up to " + number(rows.back().times) +
         " times that of one request alone is reached by both.";
}

Table AtEqualLatency::table(const std::vector<LatencyCurve>& curves, std::string title) const {
  Table table{std::move(title), {"latency over one alone"}, {}, {}};
  for (const LatencyCurve& curve : curves) table.columns.push_back(curve.name);
  for (const Row& row : rows) {
    std::vector<std::string> cells{number(row.times) + "x"};
    for (const auto& most : row.most) cells.push_back(most ? number(*most) : "-");
    table.rows.push_back(std::move(cells));
  }
  table.note =
      "Requests a second, on straight lines between the measured loads; where a curve has not "
      "risen to the latency, the most that was measured. -: above it at the lightest load.";
  return table;
}

boost::json::array AtEqualLatency::json(const std::vector<LatencyCurve>& curves) const {
  boost::json::array all;
  for (const Row& row : rows) {
    boost::json::object one{{"latency_over_alone", row.times}};
    for (std::size_t i = 0; i < curves.size(); ++i) {
      one[curves[i].name] = row.most[i] ? boost::json::value(*row.most[i]) : nullptr;
    }
    all.push_back(std::move(one));
  }
  return all;
}

boost::json::object to_json(const LoadPoint& point) {
  return {{"rate", point.rate},
          {"requests", point.summary.done},
          {"requests_per_second", point.summary.requests_per_second()},
          {"tokens_per_second", point.summary.tokens_per_second()},
          {"normalized_latency_mean", point.summary.normalized.mean},
          {"normalized_latency_p50", point.summary.normalized.p50},
          {"normalized_latency_p90", point.summary.normalized.p90},
          {"first_token_p50", point.summary.first_token.p50},
          {"mean_batch", point.batch}};
}

boost::json::object to_json(const FullLoad& load) {
  return {{"requests_per_second", load.requests_per_second},
          {"tokens_per_second", load.tokens_per_second},
          {"mean_batch", load.batch}};
}

}  // namespace weft::measure
