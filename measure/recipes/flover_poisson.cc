#include <array>
#include <boost/json/array.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/flover.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

/// A row of figure 5's table: the mean interval, where one request takes 5.8 s, and how many times
/// faster Flover was than FasterTransformer's instances.
struct PaperPoint {
  double interval;  ///< milliseconds
  double overlap;   ///< mean sequences of an iteration over the number of requests
  double speedup;
};
constexpr double kPaperAlone = 5800;
constexpr std::array<PaperPoint, 6> kPaper = {{{20, 0.913, 11.2},
                                               {50, 0.818, 11.1},
                                               {750, 0.232, 4.5},
                                               {2000, 0.093, 2.1},
                                               {3000, 0.067, 1.3},
                                               {5000, 0.048, 1.1}}};

struct PoissonRow {
  PaperPoint paper{};
  double interval = 0;
  PolicyFigures fusion;
  double overlap = 0;  ///< computed as in the paper
  std::optional<PolicyFigures> instances;

  [[nodiscard]] double speedup() const { return instances->total / fusion.total; }
};

/// The interval is the same in all rounds; fusion and instances alternate.
PoissonRow measure_poisson_row(const RecipeSetup& setup, const PaperPoint& point, double alone) {
  PoissonRow row;
  row.paper = point;
  row.interval = alone * point.interval / kPaperAlone;
  const FloverLengths lengths = flover_lengths(setup);
  LoadShape shape;
  shape.per_second = 1 / row.interval;
  shape.requests = static_cast<std::size_t>(scaled(setup, kFloverRequests, 4));
  shape.prompt.low = lengths.prompt;
  shape.output.low = lengths.output;
  const Load load{draw(shape, setup.seed), 0};
  const Config fusion = with_policy(setup, BatchPolicy::kFusion);
  const Config instances = instances_for(setup, kFloverRequests);
  std::vector<PolicyFigures> fused;
  std::vector<PolicyFigures> apart;
  for (std::int32_t i = 0; i < setup.repeats; ++i) {
    const std::string part =
        round_part(setup, i) + "an interval of " + seconds_text(row.interval) + ", ";
    fused.push_back(figures_of(fusion, play(setup, part + "fusion", fusion, load)));
    if (!has_instances(setup)) continue;
    apart.push_back(figures_of(instances, play(setup, part + "instances", instances, load)));
  }
  row.fusion = median_of(fused);
  // All requests have one length, so alone they would take `requests` times as many steps.
  row.overlap = lengths.output / static_cast<double>(row.fusion.iterations);
  if (!apart.empty()) row.instances = median_of(apart);
  return row;
}

Table poisson_table(const std::vector<PoissonRow>& rows) {
  Table table{
      "Poisson arrivals",
      {"mean interval", "of one alone", "fusion", "iterations", "overlap", "theirs"},
      {},
      "Overlap: the iterations of one request over those of all, which is the part of them "
      "that an iteration advances, on average. Theirs: Flover, table in figure 5, on an "
      "A100, where one request alone takes 5.8 s and 512 iterations; each is one draw of 32 "
      "intervals, as ours. Instances are our re-implementation of FasterTransformer's, one "
      "for each request."};
  if (rows.front().instances) {
    for (const char* name : {"instances", "speedup", "theirs"}) table.columns.emplace_back(name);
  }
  for (const PoissonRow& row : rows) {
    std::vector<std::string> cells = {seconds_text(row.interval),
                                      number(row.paper.interval / kPaperAlone),
                                      seconds_text(row.fusion.total),
                                      std::to_string(row.fusion.iterations),
                                      number(row.overlap),
                                      number(row.paper.overlap)};
    if (row.instances) {
      cells.push_back(seconds_text(row.instances->total));
      cells.push_back(times_text(row.speedup()));
      cells.push_back(times_text(row.paper.speedup));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Returns a curve of `of(row)` over the rows' intervals.
template <class Of>
Series row_series(const std::vector<PoissonRow>& rows, std::string name, Of&& of) {
  Series series;
  series.name = std::move(name);
  for (const PoissonRow& row : rows)
    series.points.emplace_back(row.paper.interval / kPaperAlone, of(row));
  return series;
}

Series of_paper(Series series) {
  series.of_paper = true;
  return series;
}

std::vector<Figure> draw_poisson(const std::vector<PoissonRow>& rows) {
  constexpr const char* kTheirs = "Flover on an A100";
  const Axis interval = logarithmic("mean interval over the time of one request alone");
  Figure total = make_figure("Total time", "Lower is better.", interval, logarithmic("seconds"));
  total.series = {
      row_series(rows, "fusion", [](const PoissonRow& row) { return row.fusion.total; })};
  Figure overlap = make_figure("Overlap", "Part of all requests that run together, on average.",
                               interval, linear("part of all requests"));
  overlap.series = {
      row_series(rows, "fusion", [](const PoissonRow& row) { return row.overlap; }),
      of_paper(row_series(rows, kTheirs, [](const PoissonRow& row) { return row.paper.overlap; }))};
  std::vector<Figure> figures = {std::move(total), std::move(overlap)};
  if (!rows.front().instances) return figures;
  figures[0].series.push_back(
      row_series(rows, "instances", [](const PoissonRow& row) { return row.instances->total; }));
  Figure speedup = make_figure("Instances over fusion", "How many times longer instances take.",
                               interval, linear("times"));
  speedup.series = {
      row_series(rows, "measured", [](const PoissonRow& row) { return row.speedup(); }),
      of_paper(row_series(rows, kTheirs, [](const PoissonRow& row) { return row.paper.speedup; }))};
  figures.push_back(std::move(speedup));
  return figures;
}

}  // namespace

Report flover_poisson(const RecipeSetup& setup) {
  const FloverLengths lengths = flover_lengths(setup);
  const double alone = alone_seconds(setup, lengths.prompt, lengths.output);
  const double requests = scaled(setup, kFloverRequests, 4);
  std::vector<PoissonRow> rows;
  for (const PaperPoint& point : kPaper) rows.push_back(measure_poisson_row(setup, point, alone));
  Report report = begin_report(setup, "Requests of a Poisson process (Flover, figure 5)",
                               "32 requests, from all but at once to one after the other: the more "
                               "of them run together, the "
                               "more a fused batch gains.");
  report.facts.emplace_back("requests", number(requests) + " of " + std::to_string(lengths.prompt) +
                                            " + " + std::to_string(lengths.output) + " tokens");
  report.facts.emplace_back("one alone", seconds_text(alone));
  report.facts.emplace_back("rounds", std::to_string(setup.repeats));
  report.tables.push_back(poisson_table(rows));
  report.figures = draw_poisson(rows);
  report.findings.push_back(
      "Overlap falls from " + number(rows.front().overlap) + " to " + number(rows.back().overlap) +
      " of all requests, iterations rise from " + std::to_string(rows.front().fusion.iterations) +
      " to " + std::to_string(rows.back().fusion.iterations) + ".");
  if (rows.front().instances) {
    report.findings.push_back("Instances take " + times_text(rows.front().speedup()) +
                              " the time of fusion where all overlap, and " +
                              times_text(rows.back().speedup()) + " where few do.");
  }
  boost::json::array data;
  for (const PoissonRow& row : rows) {
    boost::json::object one = {{"interval_seconds", row.interval}, {"fusion", to_json(row.fusion)}};
    if (row.instances) one["instances"] = to_json(*row.instances);
    data.push_back(std::move(one));
  }
  report.data = {{"alone_seconds", alone}, {"requests", requests}, {"runs", std::move(data)}};
  return report;
}

}  // namespace weft::measure
