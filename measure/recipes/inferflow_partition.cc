// The speed of one sequence and the throughput of many, on one partition. Table 5 has three such
// pairs.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

constexpr std::array kSequences = {1, 64, 256};
constexpr RequestLengths kPartitionOnHost{fixed_length(8), fixed_length(32)};
constexpr RequestLengths kPartitionOnGpu{fixed_length(128), fixed_length(128)};

/// The figures of sequences that begin together.
struct Together {
  std::int32_t sequences = 0;
  double each = 0;  ///< mean tokens/s of one sequence, without its prompt
  double all = 0;   ///< tokens/s of all sequences, prompts included
  double first_token = 0;
};

double decode_speed(const Outcome& outcome) {
  const double took = outcome.came.back() - outcome.came.front();
  return took > 0 ? static_cast<double>(outcome.came.size() - 1) / took : 0;
}

Together together_of(std::int32_t sequences, const EngineRun& run) {
  const Summary summary = summarize(run.outcomes);
  double speeds = 0;
  for (const Outcome& one : run.outcomes) speeds += decode_speed(one);
  return {sequences, speeds / static_cast<double>(run.outcomes.size()), summary.tokens_per_second(),
          summary.first_token.mean};
}

std::vector<std::int32_t> counts_for(const RecipeSetup& setup) {
  std::vector<std::int32_t> counts;
  for (const int most : kSequences) counts.push_back(most == 1 ? 1 : scaled(setup, most, 2));
  return counts;
}

std::vector<Together> measure_together(const RecipeSetup& setup,
                                       const std::vector<std::int32_t>& counts, std::int32_t prompt,
                                       std::int32_t output) {
  const Config config = with_policy(setup, BatchPolicy::kFusion);
  std::vector<NamedLoad> loads;
  for (const std::int32_t count : counts) {
    const auto sequences = static_cast<std::size_t>(count);
    loads.push_back({std::to_string(count) + (count == 1 ? " sequence" : " sequences"),
                     {std::vector<Arrival>(sequences, Arrival{0, prompt, output}), 0}});
  }
  const std::vector<EngineRun> runs = play_in_turn(setup, config, loads);
  std::vector<Together> all;
  for (std::size_t i = 0; i < runs.size(); ++i) all.push_back(together_of(counts[i], runs[i]));
  return all;
}

Table table_of(const std::vector<Together>& all) {
  Table table{"Speed and throughput",
              {"sequences", "tokens/s of each", "tokens/s of all", "first token"},
              {},
              {}};
  for (const Together& one : all) {
    table.rows.push_back({std::to_string(one.sequences), number(one.each), number(one.all),
                          seconds_text(one.first_token)});
  }
  table.note =
      "Inferflow's own, throughput and tokens/s of one sequence of Falcon-40B on four V100 "
      "(table 5): cut by layers 32 and 8, by tensors 12 and 12, two by two 24 and 12.";
  return table;
}

Figure figure_of(const std::vector<Together>& all) {
  Figure figure = make_figure("Speed and throughput",
                              "Of each sequence, and of all together: higher is better.",
                              logarithmic("sequences"), logarithmic("tokens a second"));
  Series each;
  each.name = "each";
  Series whole;
  whole.name = "all";
  for (const Together& one : all) {
    each.points.emplace_back(one.sequences, one.each);
    whole.points.emplace_back(one.sequences, one.all);
  }
  figure.series = {std::move(each), std::move(whole)};
  return figure;
}

}  // namespace

Report inferflow_partition(const RecipeSetup& setup) {
  const std::vector<std::int32_t> counts = counts_for(setup);
  RecipeSetup own = setup;
  own.config.max_rows = counts.back();
  const RequestLengths& lengths = runs_on_host(own.config) ? kPartitionOnHost : kPartitionOnGpu;
  const std::int32_t prompt = lengths.prompt.low;
  const std::int32_t output = scaled(own, lengths.output.low, 4);
  const std::vector<Together> all = measure_together(own, counts, prompt, output);
  Report report = begin_report(own, "Speed and throughput on a partition (Inferflow, table 5)",
                               "One sequence, and many that begin together, on one partition. Run "
                               "it on each partition of the same devices to compare them.");
  report.facts.emplace_back("request", std::to_string(prompt) + " tokens of prompt, " +
                                           std::to_string(output) + " of output");
  report.tables = {table_of(all)};
  report.figures = {figure_of(all)};
  report.findings.push_back("One sequence gets " + number(all.front().each) + " tokens/s, " +
                            std::to_string(all[1].sequences) + " give " + number(all[1].all) +
                            " together.");
  boost::json::array data;
  for (const Together& one : all) {
    data.push_back({{"sequences", one.sequences},
                    {"tokens_per_second_of_each", one.each},
                    {"tokens_per_second", one.all},
                    {"mean_first_token_seconds", one.first_token}});
  }
  report.data = {{"runs", std::move(data)}};
  return report;
}

}  // namespace weft::measure
