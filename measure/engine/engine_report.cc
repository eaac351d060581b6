#include "weft/measure/engine/engine_report.h"

#include <boost/json/array.hpp>
#include <utility>

#include "weft/config/replicas_text.h"
#include "weft/measure/engine/policy_list.h"
#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/load/load_report.h"

namespace weft::measure {
namespace {

/// Returns the share of the load's time in which a device ran a step; with several devices, their
/// mean.
double busy_part(const EngineRun& run, double seconds) {
  double sum = 0;
  for (const StepRecord& step : run.steps) sum += step.seconds();
  return seconds > 0 ? sum / (seconds * static_cast<double>(run.devices)) : 0;
}

Table policies_table(const std::vector<MeasuredPolicy>& measured, const Slo& slo) {
  Table table{"Policies",
              {"policy", "done", "total", "tokens/s", "first token p50", "p99", "per token p50",
               "normalized p50", "mean batch", "steps", "device busy"},
              {},
              "Normalized: end-to-end over output tokens. Window, static and instances are our own "
              "re-implementations of those policies."};
  const bool compares = measured.size() > 1;
  if (slo.is_set()) table.columns.emplace_back("goodput");
  if (compares) table.columns.emplace_back("total, over the first");
  const Summary first = summarize(measured.front().run.outcomes, slo);
  for (const MeasuredPolicy& one : measured) {
    const Summary summary = summarize(one.run.outcomes, slo);
    std::vector<std::string> row = {policy_text(one.config),
                                    std::to_string(summary.done),
                                    seconds_text(summary.seconds),
                                    number(summary.tokens_per_second()),
                                    seconds_text(summary.first_token.p50),
                                    seconds_text(summary.first_token.p99),
                                    seconds_text(summary.per_token.p50),
                                    seconds_text(summary.normalized.p50),
                                    number(mean_batch(one.run.steps)),
                                    std::to_string(one.run.steps.size()),
                                    number(100 * busy_part(one.run, summary.seconds)) + " %"};
    if (slo.is_set()) row.push_back(number(summary.goodput()) + "/s");
    if (compares) row.push_back(times_text(summary.seconds / first.seconds));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Figure progress_figure(const std::vector<MeasuredPolicy>& measured) {
  Figure figure =
      make_figure("Tokens that have come", "A curve further left is a policy that answers sooner.",
                  linear("seconds"), linear("tokens of all requests"));
  for (const MeasuredPolicy& one : measured) {
    figure.series.push_back(
        {policy_text(one.config), Series::Style::kStep, tokens_over_time(one.run.outcomes), false});
  }
  return figure;
}

}  // namespace

Report engine_report(const std::string& model, const std::vector<MeasuredPolicy>& measured,
                     const Slo& slo) {
  const Config& config = measured.front().config;
  Report report;
  report.title = "weft bench engine";
  report.summary = "The engine in one process with its clients: no network, no text.";
  report.facts = {{"model", model},
                  {"device", replica_devices_text(config)},
                  {"threads", threads_text(config)}};
  report.facts.emplace_back("rows", std::to_string(measured.front().run.limits.rows));
  report.facts.emplace_back("pages", std::to_string(measured.front().run.limits.pages) + " of " +
                                         std::to_string(measured.front().run.limits.page_tokens) +
                                         " tokens");
  report.tables.push_back(policies_table(measured, slo));
  report.figures.push_back(progress_figure(measured));
  if (measured.size() == 1) {
    const std::vector<Outcome>& outcomes = measured.front().run.outcomes;
    for (Table& table : load_tables(summarize(outcomes, slo), slo)) {
      report.tables.push_back(std::move(table));
    }
    for (Figure& figure : load_figures(outcomes)) report.figures.push_back(std::move(figure));
  }
  boost::json::array data;
  for (const MeasuredPolicy& one : measured) {
    data.push_back({{"policy", policy_text(one.config)},
                    {"mean_batch", mean_batch(one.run.steps)},
                    {"steps", one.run.steps.size()},
                    {"load", load_data(one.run.outcomes, slo)}});
  }
  report.data = std::move(data);
  return report;
}

}  // namespace weft::measure
