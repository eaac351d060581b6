#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/load_step_devices.h"
#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/flover.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/recipes.h"
#include "weft/measure/recipes/rounds.h"
#include "weft/measure/steps/hole_device.h"
#include "weft/measure/steps/shuffle_timer.h"

namespace weft::measure {
namespace {

// The longest output over the shortest. The paper's outputs have between 128 and 128 ... 1024
// tokens.
constexpr std::array kLongest = {1, 2, 4, 8};
constexpr std::int32_t kShortestOnHost = 16;
constexpr std::int32_t kShortestOnGpu = 128;

/// One run with rows that the shuffle keeps together.
struct Shuffled {
  PolicyFigures figures;
  double shuffle_seconds = 0;
  double device_seconds = 0;
  std::size_t shuffles = 0;
  std::int64_t moved_rows = 0;
  std::int64_t moved_bytes = 0;

  /// Returns the share of the device's busy time that the shuffle takes.
  [[nodiscard]] double part() const {
    return device_seconds > 0 ? shuffle_seconds / device_seconds : 0;
  }
};

/// One run of each kind, one after the other.
struct ShuffleRound {
  Shuffled pages;
  Shuffled slabs;
  PolicyFigures without;  ///< host only
  std::int64_t holes = 0;
};

struct ShuffleRow {
  std::int32_t longest = 0;
  Rounds<ShuffleRound> rounds;
};

double pages_total(const ShuffleRound& round) { return round.pages.figures.total; }
double slabs_total(const ShuffleRound& round) { return round.slabs.figures.total; }
double without_total(const ShuffleRound& round) { return round.without.total; }
double pages_part(const ShuffleRound& round) { return round.pages.part(); }
double slabs_part(const ShuffleRound& round) { return round.slabs.part(); }
double gain(const ShuffleRound& round) { return without_total(round) / pages_total(round); }

std::int64_t page_bytes(const RecipeSetup& setup, const Config& config) {
  const Program& program = *setup.model.opened.program;
  const DType dtype = config.kv_dtype.value_or(kv_dtype_for(config.device, program));
  return program.kv_bytes_per_token(dtype) * config.page_tokens;
}

Shuffled run_shuffled(const RecipeSetup& setup, const Load& load, KvLayout layout) {
  Config config = with_policy(setup, BatchPolicy::kFusion);
  config.kv_layout = layout;
  const auto steps = std::make_shared<ShuffleTimer::Steps>();
  const auto wrap = [steps](std::shared_ptr<StepDevice> device) {
    return std::make_shared<ShuffleTimer>(std::move(device), steps);
  };
  const std::string part = layout == KvLayout::kSlab ? "shuffle, slabs" : "shuffle, pages";
  const EngineRun run = play(setup, part, config, load, wrap);
  Shuffled result;
  result.figures = figures_of(config, run);
  for (const ShuffleTimer::Step& step : *steps) {
    if (step.began < run.began) continue;  // the warm-up
    result.shuffle_seconds += step.shuffle;
    result.device_seconds += step.all;
    result.shuffles += step.shuffle > 0 ? 1 : 0;
  }
  for (const StepRecord& step : run.steps) {
    result.moved_rows += step.moved_rows;
    result.moved_bytes += step.moved_pages * page_bytes(setup, config);
  }
  return result;
}

void run_without(const RecipeSetup& setup, const Load& load, ShuffleRound& round) {
  Config config = with_policy(setup, BatchPolicy::kFusion);
  config.max_rows = 2 * config.max_rows;
  std::shared_ptr<HoleDevice> holes;
  const auto wrap = [&holes](std::shared_ptr<StepDevice> device) {
    holes = std::make_shared<HoleDevice>(std::move(device));
    return holes;
  };
  round.without = figures_of(config, play(setup, "no shuffle", config, load, wrap));
  round.holes = holes->computed_holes();
}

std::int32_t shortest(const RecipeSetup& setup) {
  return scaled(setup, runs_on_host(setup.config) ? kShortestOnHost : kShortestOnGpu, 4);
}

ShuffleRow measure_shuffle_row(const RecipeSetup& setup, std::int32_t times, double interval) {
  ShuffleRow row;
  LoadShape shape;
  shape.process = Process::kConstant;
  shape.per_second = 1 / interval;
  shape.requests = static_cast<std::size_t>(scaled(setup, kFloverRequests, 4));
  shape.prompt.low = flover_lengths(setup).prompt;
  shape.output = {Lengths::Kind::kUniform, shortest(setup), shortest(setup) * times, 0};
  const Load load{draw(shape, setup.seed), 0};
  row.longest = shape.output.high;
  for (std::int32_t i = 0; i < setup.repeats; ++i) {
    ShuffleRound round;
    round.pages = run_shuffled(setup, load, KvLayout::kPages);
    round.slabs = run_shuffled(setup, load, KvLayout::kSlab);
    if (has_instances(setup)) run_without(setup, load, round);
    row.rounds.add(std::move(round));
  }
  return row;
}

std::string percent(double part) { return number(100 * part) + " %"; }

std::string bytes_text(std::int64_t bytes) {
  return number(static_cast<double>(bytes) / 1e6) + " MB";
}

Table shuffle_totals(const std::vector<ShuffleRow>& rows, bool without) {
  Table table{
      "Outputs of random lengths",
      {"longest output", "pages", "slabs"},
      {},
      "Medians. All requests, from the first arrival to the last end. Without the shuffle, rows of "
      "finished requests between running ones are computed too, as an executor of fixed "
      "buffers does: our re-implementation of what Flover compares with, and the least it "
      "can cost. Flover's own: the shuffle gains 20 % on average (section VI.D)."};
  if (without) {
    for (const char* name : {"no shuffle", "over pages", "rows in vain"}) {
      table.columns.emplace_back(name);
    }
  }
  for (const ShuffleRow& row : rows) {
    std::vector<std::string> cells = {std::to_string(row.longest),
                                      seconds_text(row.rounds.median(pages_total)),
                                      seconds_text(row.rounds.median(slabs_total))};
    if (without) {
      cells.push_back(seconds_text(row.rounds.median(without_total)));
      cells.push_back(with_range(row.rounds.each(gain), times_text));
      cells.push_back(number(row.rounds.median(
          [](const ShuffleRound& one) { return static_cast<double>(one.holes); })));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table costs(const std::vector<ShuffleRow>& rows) {
  Table table{"What the shuffle costs on the device",
              {"longest output", "rows moved", "pages: of step time", "slabs: rows moved",
               "slabs: moved", "slabs: of step time"},
              {},
              "Of the round whose part of the step time is the largest. With pages a row's move "
              "takes its dense state alone, keys and values stay; in slabs "
              "they move too. Which rows move is decided while the step before runs."};
  for (const ShuffleRow& row : rows) {
    const Shuffled& pages = std::ranges::max_element(row.rounds.all(), {}, pages_part)->pages;
    const Shuffled& slabs = std::ranges::max_element(row.rounds.all(), {}, slabs_part)->slabs;
    table.rows.push_back({std::to_string(row.longest), std::to_string(pages.moved_rows),
                          percent(pages.part()), std::to_string(slabs.moved_rows),
                          bytes_text(slabs.moved_bytes), percent(slabs.part())});
  }
  return table;
}

Figure draw_shuffle(const std::vector<ShuffleRow>& rows, bool without) {
  Figure figure = make_figure("Total time by the longest output",
                              "The wider lengths are spread, the more holes there would be.",
                              logarithmic("longest output, tokens"), linear("seconds"));
  figure.series.resize(without ? 3 : 2);
  figure.series[0].name = "pages";
  figure.series[1].name = "slabs";
  if (without) figure.series[2].name = "no shuffle";
  for (const ShuffleRow& row : rows) {
    figure.series[0].points.emplace_back(row.longest, row.rounds.median(pages_total));
    figure.series[1].points.emplace_back(row.longest, row.rounds.median(slabs_total));
    if (without) {
      figure.series[2].points.emplace_back(row.longest, row.rounds.median(without_total));
    }
  }
  return figure;
}

boost::json::object shuffled_json(const Shuffled& one) {
  boost::json::object object = to_json(one.figures);
  object["moved_rows"] = one.moved_rows;
  object["moved_bytes"] = one.moved_bytes;
  object["shuffles"] = one.shuffles;
  object["shuffle_seconds"] = one.shuffle_seconds;
  object["device_seconds"] = one.device_seconds;
  return object;
}

boost::json::object shuffle_data(const ShuffleRow& row, bool without) {
  boost::json::array rounds;
  for (const ShuffleRound& round : row.rounds.all()) {
    boost::json::object one = {{"pages", shuffled_json(round.pages)},
                               {"slabs", shuffled_json(round.slabs)}};
    if (without) {
      one["no_shuffle"] = measure::to_json(round.without);
      one["computed_holes"] = round.holes;
    }
    rounds.push_back(std::move(one));
  }
  return {{"longest_output", row.longest}, {"rounds", std::move(rounds)}};
}

}  // namespace

Report flover_shuffle(const RecipeSetup& setup) {
  const RecipeSetup here = with_rows(setup);
  const FloverLengths lengths = flover_lengths(here);
  const double alone = alone_seconds(here, lengths.prompt, shortest(here));
  const double interval = alone * kFloverInterval;
  const bool without = has_instances(here);
  std::vector<ShuffleRow> rows;
  for (const int times : kLongest) rows.push_back(measure_shuffle_row(here, times, interval));
  Report report =
      begin_report(here, "The shuffle (Flover, figure 6)",
                   "Requests whose outputs are of evenly spread lengths, so that rows "
                   "become free in no order: with and without keeping the rows together.");
  report.facts.emplace_back("shortest output", std::to_string(shortest(here)) + " tokens");
  report.facts.emplace_back("interval", seconds_text(interval));
  report.facts.emplace_back("rounds", std::to_string(here.repeats));
  report.tables = {shuffle_totals(rows, without), costs(rows)};
  report.figures.push_back(draw_shuffle(rows, without));
  double pages = 0;
  double slabs = 0;
  for (const ShuffleRow& row : rows) {
    pages = std::max(pages, std::ranges::max(row.rounds.each(pages_part)));
    slabs = std::max(slabs, std::ranges::max(row.rounds.each(slabs_part)));
  }
  report.findings.push_back("At most, the shuffle takes " + percent(pages) +
                            " of the device's time with pages and " + percent(slabs) +
                            " with slabs.");
  if (without) {
    report.findings.push_back("Without it, the widest spread takes " +
                              with_range(rows.back().rounds.each(gain), times_text) + " the time.");
  }
  boost::json::array data;
  for (const ShuffleRow& row : rows) data.push_back(shuffle_data(row, without));
  report.data = {{"interval_seconds", interval}, {"runs", std::move(data)}};
  return report;
}

}  // namespace weft::measure
