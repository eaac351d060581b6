#include "weft/measure/recipes/flover.h"

#include <algorithm>
#include <utility>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/report/quantile.h"

namespace weft::measure {

FloverLengths flover_lengths(const RecipeSetup& setup) {
  constexpr FloverLengths kOnHost{8, 64};
  constexpr FloverLengths kOnGpu{16, 512};
  FloverLengths lengths = runs_on_host(setup.config) ? kOnHost : kOnGpu;
  lengths.output = scaled(setup, lengths.output, 4);
  return lengths;
}

std::vector<Arrival> at_interval(std::int32_t count, double interval,
                                 const FloverLengths& lengths) {
  std::vector<Arrival> arrivals;
  for (std::int32_t i = 0; i < count; ++i) {
    arrivals.push_back({i * interval, lengths.prompt, lengths.output});
  }
  return arrivals;
}

PolicyFigures figures_of(const Config& config, const EngineRun& run) {
  const Summary summary = summarize(run.outcomes);
  PolicyFigures figures;
  figures.policy = policy_text(config);
  figures.total = summary.seconds;
  figures.tokens_per_second = summary.tokens_per_second();
  figures.latency = summary.whole.mean;
  figures.first_token = summary.first_token.mean;
  figures.iterations = run.steps.size();
  figures.batch = mean_batch(run.steps);
  figures.threads = run.threads;
  return figures;
}

PolicyFigures median_of(std::span<const PolicyFigures> rounds) {
  const auto middle = [&](auto PolicyFigures::* figure) {
    std::vector<double> values;
    for (const PolicyFigures& round : rounds) values.push_back(static_cast<double>(round.*figure));
    return median(std::move(values));
  };
  PolicyFigures figures = rounds.front();
  figures.total = middle(&PolicyFigures::total);
  figures.tokens_per_second = middle(&PolicyFigures::tokens_per_second);
  figures.latency = middle(&PolicyFigures::latency);
  figures.first_token = middle(&PolicyFigures::first_token);
  figures.iterations = static_cast<std::size_t>(middle(&PolicyFigures::iterations));
  figures.batch = middle(&PolicyFigures::batch);
  return figures;
}

boost::json::object to_json(const PolicyFigures& figures) {
  return {{"policy", figures.policy},
          {"total_seconds", figures.total},
          {"output_tokens_per_second", figures.tokens_per_second},
          {"mean_latency_seconds", figures.latency},
          {"mean_first_token_seconds", figures.first_token},
          {"iterations", figures.iterations},
          {"mean_batch", figures.batch},
          {"threads", figures.threads}};
}

Config instances_for(const RecipeSetup& setup, std::int32_t requests) {
  Config config = with_policy(setup, BatchPolicy::kInstances);
  const std::int32_t most = setup.config.max_rows > 0 ? setup.config.max_rows : kFloverRequests;
  config.instances = std::min(requests, most);
  return config;
}

bool has_instances(const RecipeSetup& setup) { return runs_on_host(setup.config); }

}  // namespace weft::measure
