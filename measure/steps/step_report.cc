#include "weft/measure/steps/step_report.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <set>

namespace weft::measure {
namespace {

constexpr double kMillisecondsPerSecond = 1e3;
constexpr double kGiga = 1e-9;

std::string ms(double seconds) { return number(seconds * kMillisecondsPerSecond); }

/// Writes the range of values, such as "[0.91, 0.95]".
std::string between(const Quartiles& values, double scale = 1) {
  return "[" + number(values.low * scale) + ", " + number(values.high * scale) + "]";
}

double limit(const StepCell& cell) {
  return cell.computes() ? cell.computing->median : cell.reading.median;
}

Table decode_table(const StepFigures& figures) {
  Table table;
  table.title = "Decode: the next token of each sequence of a batch";
  table.columns = {"batch",   "context",  "ms a step", "quartiles", "tokens/s", "times",
                   "GB read", "limit ms", "by",        "of limit",  "quartiles"};
  for (const StepCell& cell : figures.decode) {
    table.rows.push_back({std::to_string(cell.batch), std::to_string(cell.tokens),
                          ms(cell.seconds.median), between(cell.seconds, kMillisecondsPerSecond),
                          number(cell.rate(false)), number(cell.times_first.median),
                          number(cell.work.bytes * kGiga), ms(limit(cell)),
                          cell.computes() ? "computing" : "reading", number(cell.of_limit.median),
                          between(cell.of_limit)});
  }
  table.note =
      "context: tokens that each sequence attends to. times: tokens/s over those of the smallest "
      "batch, in turn with it. GB read: the weights once, keys and values of the contexts. limit: "
      "the time for reading that or for the step's operations, whichever is longer.";
  return table;
}

Table prefill_table(const StepFigures& figures) {
  Table table;
  table.title = "Prefill: a prompt, alone";
  table.columns = {"tokens",  "ms",       "quartiles", "tokens/s", "GFLOP",
                   "GFLOP/s", "limit ms", "by",        "of limit", "quartiles"};
  for (const StepCell& cell : figures.prefill) {
    const double gflop = cell.work.operations * kGiga;
    table.rows.push_back({std::to_string(cell.tokens), ms(cell.seconds.median),
                          between(cell.seconds, kMillisecondsPerSecond), number(cell.rate(true)),
                          number(gflop), number(gflop / cell.seconds.median),
                          cell.computing ? ms(limit(cell)) : "not measured",
                          !cell.computing   ? ""
                          : cell.computes() ? "computing"
                                            : "reading",
                          cell.computing ? number(cell.of_limit.median) : "not measured",
                          cell.computing ? between(cell.of_limit) : ""});
  }
  table.note = "In steps of at most " + std::to_string(figures.step_tokens) +
               " tokens, with a choice after the last one. GFLOP: products and sums of weights and "
               "attention. limit: the time for them or for reading, whichever is longer.";
  return table;
}

/// Makes a curve over the cells of one context.
Series curve(const StepFigures& figures, std::int32_t context, const std::string& name,
             Series::Style style, const std::function<double(const StepCell&)>& value) {
  Series series{.name = name + "context " + std::to_string(context), .style = style, .points = {}};
  for (const StepCell& cell : figures.decode) {
    if (cell.tokens == context) series.points.emplace_back(cell.batch, value(cell));
  }
  return series;
}

Figure decode_figure(const StepFigures& figures) {
  Figure figure;
  figure.title = "Tokens a second by batch";
  figure.caption =
      "A step reads the weights once for all its sequences: tokens grow with the batch until "
      "computing, or reading the contexts, takes as long as reading the weights.";
  figure.x = {"sequences that decode together", true};
  figure.y = {"tokens a second", true};
  std::set<std::int32_t> contexts;
  for (const StepCell& cell : figures.decode) contexts.insert(cell.tokens);
  for (const std::int32_t context : contexts) {
    figure.series.push_back(curve(figures, context, "", Series::Style::kLine,
                                  [](const StepCell& cell) { return cell.rate(false); }));
    figure.series.push_back(curve(figures, context, "limit at ", Series::Style::kPoints,
                                  [](const StepCell& cell) { return cell.batch / limit(cell); }));
  }
  return figure;
}

Figure prefill_figure(const StepFigures& figures) {
  Figure figure;
  figure.title = "Prompt tokens a second by length";
  figure.caption =
      "A prompt computes where a decode step reads: what it reaches is a part of the peak.";
  figure.x = {"tokens of the prompt", true};
  figure.y = {"tokens a second", true};
  Series measured{.name = "measured", .points = {}};
  Series limits{.name = "limit", .style = Series::Style::kPoints, .points = {}};
  for (const StepCell& cell : figures.prefill) {
    measured.points.emplace_back(cell.tokens, cell.rate(true));
    if (cell.computing) limits.points.emplace_back(cell.tokens, cell.tokens / limit(cell));
  }
  figure.series.push_back(std::move(measured));
  if (!limits.points.empty()) figure.series.push_back(std::move(limits));
  return figure;
}

std::vector<std::string> findings(const StepFigures& figures) {
  std::vector<std::string> all;
  const auto best = std::ranges::max_element(figures.decode, {},
                                             [](const StepCell& cell) { return cell.rate(false); });
  if (best != figures.decode.end()) {
    const StepCell& first = figures.decode.front();
    all.push_back("Decode of " + std::to_string(first.batch) + " at a context of " +
                  std::to_string(first.tokens) + " takes " + ms(first.seconds.median) +
                  " ms: " + number(first.of_limit.median) + " " + between(first.of_limit) +
                  " of what " + (first.computes() ? "computing" : "reading") + " alone gives.");
    all.push_back("The most tokens a second are " + number(best->rate(false)) + ", by a batch of " +
                  std::to_string(best->batch) + " at a context of " + std::to_string(best->tokens) +
                  ".");
  }
  if (!figures.prefill.empty() && figures.prefill.back().of_peak) {
    const StepCell& last = figures.prefill.back();
    all.push_back("A prompt of " + std::to_string(last.tokens) + " tokens is computed at " +
                  number(last.rate(true)) + " tokens a second: " + number(last.of_peak->median) +
                  " " + between(*last.of_peak) + " of the peak of its arithmetic.");
  }
  return all;
}

boost::json::value to_json(const Quartiles& values) {
  return {{"q1", values.low}, {"median", values.median}, {"q3", values.high}};
}

boost::json::value to_json(const std::optional<Quartiles>& values) {
  return values ? to_json(*values) : boost::json::value(nullptr);
}

boost::json::object to_json(const StepCell& cell, bool prefill) {
  boost::json::object all;
  if (!prefill) all["batch"] = cell.batch;
  all[prefill ? "tokens" : "context"] = cell.tokens;
  all["seconds"] = to_json(cell.seconds);
  all["tokens_per_second"] = cell.rate(prefill);
  all["bytes"] = cell.work.bytes;
  all["operations"] = cell.work.operations;
  all["reading_seconds"] = to_json(cell.reading);
  all["computing_seconds"] = to_json(cell.computing);
  all["of_limit"] = to_json(cell.of_limit);
  all["of_peak"] = to_json(cell.of_peak);
  if (!prefill) all["times_smallest_batch"] = to_json(cell.times_first);
  return all;
}

boost::json::value data(const StepFigures& figures) {
  boost::json::array decode;
  for (const StepCell& cell : figures.decode) decode.push_back(to_json(cell, false));
  boost::json::array prefill;
  for (const StepCell& cell : figures.prefill) prefill.push_back(to_json(cell, true));
  return {{"weight_bytes", figures.weight_bytes},
          {"kv_bytes_per_token", figures.kv_bytes},
          {"step_tokens", figures.step_tokens},
          {"decode", std::move(decode)},
          {"prefill", std::move(prefill)}};
}

/// Adds the limits themselves, so that a reader sees what a cell's share of the limit refers to.
void add_limits(const StepFigures& figures,
                std::vector<std::pair<std::string, std::string>>& facts) {
  const StepCell* cell = !figures.decode.empty()    ? &figures.decode.front()
                         : !figures.prefill.empty() ? &figures.prefill.back()
                                                    : nullptr;
  if (cell == nullptr) return;
  facts.emplace_back("limit of reading", number(cell->work.bytes / cell->reading.median * kGiga) +
                                             " GB/s, " + figures.reader);
  if (!figures.prefill.empty()) cell = &figures.prefill.back();
  std::string peak = figures.computer;
  if (cell->computing) {
    peak = number(cell->work.operations / cell->computing->median * kGiga) + " GFLOP/s, " + peak;
  }
  facts.emplace_back("limit of computing", peak);
}

}  // namespace

Report step_report(const StepFigures& figures, const std::string& model,
                   std::vector<std::pair<std::string, std::string>> facts) {
  Report report;
  report.title = "Steps of " + model;
  report.summary =
      "What one fused step takes, choices of tokens included, in turn with what the device needs "
      "for merely reading as many bytes and for merely doing as many operations. Medians and "
      "quartiles.";
  add_limits(figures, facts);
  report.facts = std::move(facts);
  if (!figures.decode.empty()) report.tables.push_back(decode_table(figures));
  if (!figures.prefill.empty()) report.tables.push_back(prefill_table(figures));
  if (figures.decode.size() > 1) report.figures.push_back(decode_figure(figures));
  if (figures.prefill.size() > 1) report.figures.push_back(prefill_figure(figures));
  report.findings = findings(figures);
  report.data = data(figures);
  return report;
}

}  // namespace weft::measure
