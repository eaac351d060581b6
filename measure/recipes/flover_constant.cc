#include <array>
#include <boost/json/array.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/flover.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

constexpr std::array kConcurrency = {1, 2, 4, 8, 16, 32};

/// All policies under one number of requests.
struct Column {
  std::int32_t requests = 0;
  std::vector<PolicyFigures> policies;  // fusion comes first
};

NamedLoad constant_load(const RecipeSetup& setup, const std::string& part, std::int32_t requests,
                        const Config& config, double interval) {
  return {part + std::to_string(requests) + " requests, " + policy_text(config),
          {at_interval(requests, interval, flover_lengths(setup)), 0}};
}

std::vector<Column> empty_columns(const RecipeSetup& setup) {
  std::vector<Column> columns;
  for (const int requests : kConcurrency) {
    if (requests == 1 || requests <= scaled(setup, kFloverRequests, 2)) {
      columns.push_back({requests, {}});
    }
  }
  return columns;
}

/// Plays each policy once. An engine that accepts any number of requests is loaded only once.
std::vector<Column> measure_constant_round(const RecipeSetup& setup, const std::string& part,
                                           double interval) {
  std::vector<Column> columns = empty_columns(setup);
  for (const BatchPolicy policy : {BatchPolicy::kFusion, BatchPolicy::kStatic}) {
    const Config config = with_policy(setup, policy);
    std::vector<NamedLoad> loads;
    for (const Column& column : columns) {
      loads.push_back(constant_load(setup, part, column.requests, config, interval));
    }
    const std::vector<EngineRun> runs = play_in_turn(setup, config, loads);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      columns[i].policies.push_back(figures_of(config, runs[i]));
    }
  }
  if (!has_instances(setup)) return columns;
  for (Column& column : columns) {
    const Config config = instances_for(setup, column.requests);
    const NamedLoad load = constant_load(setup, part, column.requests, config, interval);
    column.policies.push_back(figures_of(config, play(setup, load.part, config, load.load)));
  }
  return columns;
}

/// Returns the medians of several rounds, in which other work of the machine affects all policies
/// alike.
std::vector<Column> measure_columns(const RecipeSetup& setup, double interval) {
  std::vector<std::vector<Column>> rounds;
  for (std::int32_t i = 0; i < setup.repeats; ++i) {
    rounds.push_back(measure_constant_round(setup, round_part(setup, i), interval));
  }
  std::vector<Column> columns = rounds.front();
  for (std::size_t column = 0; column < columns.size(); ++column) {
    for (std::size_t policy = 0; policy < columns[column].policies.size(); ++policy) {
      std::vector<PolicyFigures> all;
      for (const auto& round : rounds) all.push_back(round[column].policies[policy]);
      columns[column].policies[policy] = median_of(all);
    }
  }
  return columns;
}

/// Returns a policy's name in a table where there are as many instances as requests.
std::string policy_name(const PolicyFigures& figures) {
  return figures.policy.ends_with("instances") ? "instances" : figures.policy;
}

template <class Of>
std::vector<Series> column_series(const std::vector<Column>& columns, Of&& of) {
  std::vector<Series> all;
  for (std::size_t policy = 0; policy < columns.front().policies.size(); ++policy) {
    Series series;
    series.name = policy_name(columns.front().policies[policy]);
    for (const Column& column : columns) {
      series.points.emplace_back(column.requests, of(column.policies[policy]));
    }
    all.push_back(std::move(series));
  }
  return all;
}

Table column_totals(const std::vector<Column>& columns) {
  Table table{"Total time and throughput", {"requests"}, {}, {}};
  for (const PolicyFigures& policy : columns.front().policies) {
    table.columns.push_back(policy_name(policy));
    table.columns.emplace_back("tokens/s");
  }
  table.columns.emplace_back("static / fusion");
  if (columns.front().policies.size() > 2) table.columns.emplace_back("instances / fusion");
  for (const Column& column : columns) {
    std::vector<std::string> row = {std::to_string(column.requests)};
    for (const PolicyFigures& policy : column.policies) {
      row.push_back(seconds_text(policy.total));
      row.push_back(number(policy.tokens_per_second));
    }
    for (std::size_t i = 1; i < column.policies.size(); ++i) {
      row.push_back(times_text(column.policies[i].total / column.policies[0].total));
    }
    table.rows.push_back(std::move(row));
  }
  table.note =
      "Flover's own, on an A100: instances (FasterTransformer) take 1.8 times as long for 2 "
      "requests "
      "and 11 times for 32 of GPT-J 6B. Static is our re-implementation of request-level batching, "
      "instances ours of one model instance a request.";
  return table;
}

Table latencies(const std::vector<Column>& columns, double alone) {
  Table table{"Mean latency of a request over that of one alone", {"requests"}, {}, {}};
  for (const PolicyFigures& policy : columns.front().policies) {
    table.columns.push_back(policy_name(policy));
  }
  for (const Column& column : columns) {
    std::vector<std::string> row = {std::to_string(column.requests)};
    for (const PolicyFigures& policy : column.policies) {
      row.push_back(times_text(policy.latency / alone));
    }
    table.rows.push_back(std::move(row));
  }
  table.note =
      "Flover's own: 1.03x with 8 requests, 1.08x with 32 (A100, section VI.B). With 500 ms "
      "between requests "
      "of 5.8 s some 12 of them run together, and theirs alone were far from the memory's limit.";
  return table;
}

std::vector<Figure> draw_constant(const std::vector<Column>& columns, double alone) {
  const Axis requests = logarithmic("requests");
  Figure total = make_figure("Total time", "All requests, one each interval: lower is better.",
                             requests, logarithmic("seconds"));
  total.series = column_series(columns, [](const PolicyFigures& one) { return one.total; });
  Figure throughput = make_figure("Throughput", "Higher is better.", requests,
                                  logarithmic("output tokens a second"));
  throughput.series =
      column_series(columns, [](const PolicyFigures& one) { return one.tokens_per_second; });
  Figure latency = make_figure("Latency of a request over that of one alone",
                               "1 is a request that has the device to itself.", requests,
                               logarithmic("times one alone"));
  latency.series =
      column_series(columns, [alone](const PolicyFigures& one) { return one.latency / alone; });
  latency.series.push_back(
      {"Flover on an A100", Series::Style::kPoints, {{8, 1.03}, {32, 1.08}}, true});
  return {std::move(total), std::move(throughput), std::move(latency)};
}

}  // namespace

Report flover_constant(const RecipeSetup& setup) {
  const FloverLengths lengths = flover_lengths(setup);
  const double alone = alone_seconds(setup, lengths.prompt, lengths.output);
  const double interval = alone * kFloverInterval;
  const std::vector<Column> columns = measure_columns(setup, interval);
  Report report = begin_report(setup, "Requests at a constant interval (Flover, figure 4)",
                               "1 to 32 requests that come one after the other while those before "
                               "them run: fused into one batch, batched as whole requests, or each "
                               "on an instance of the model.");
  report.facts.emplace_back("request", std::to_string(lengths.prompt) + " tokens of prompt, " +
                                           std::to_string(lengths.output) + " of output");
  report.facts.emplace_back("one alone", seconds_text(alone));
  report.facts.emplace_back("interval", seconds_text(interval));
  report.facts.emplace_back("rounds", std::to_string(setup.repeats));
  report.tables = {column_totals(columns), latencies(columns, alone)};
  report.figures = draw_constant(columns, alone);
  const Column& last = columns.back();
  report.findings.push_back(
      std::to_string(last.requests) + " requests take fusion " +
      seconds_text(last.policies[0].total) + ", " + times_text(last.policies[0].latency / alone) +
      " the latency of one alone; static takes " +
      times_text(last.policies[1].total / last.policies[0].total) + " the time.");
  if (last.policies.size() > 2) {
    report.findings.push_back("Instances take " +
                              times_text(last.policies[2].total / last.policies[0].total) +
                              " the time of fusion.");
  }
  boost::json::array data;
  for (const Column& column : columns) {
    boost::json::array policies;
    for (const PolicyFigures& policy : column.policies) policies.push_back(to_json(policy));
    data.push_back({{"requests", column.requests}, {"policies", std::move(policies)}});
  }
  report.data = {
      {"alone_seconds", alone}, {"interval_seconds", interval}, {"runs", std::move(data)}};
  return report;
}

}  // namespace weft::measure
