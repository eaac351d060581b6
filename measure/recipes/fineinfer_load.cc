// FineInfer's experiment. It compares how many sequences a KV cache holds when each is padded to
// the longest allowed length, and when each takes only its own length. It also measures the share
// of a request's time outside the forward pass.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/engine/recipe_runs.h"
#include "weft/measure/recipes/fineinfer_lengths.h"
#include "weft/measure/recipes/forward_split.h"
#include "weft/measure/recipes/load_sweep.h"
#include "weft/measure/recipes/recipes.h"

namespace weft::measure {
namespace {

struct DataSet {
  const char* name;
  RequestLengths lengths;
  const char* batch;  ///< growth of the paper's running batch under full load
  const char* rates;  ///< the rates that the paper's systems sustain
};
constexpr std::array kDataSets = {
    DataSet{"ShareGPT-like", kShareGptLike, "4.7x", "0.24 and 2"},
    DataSet{"Alpaca-like", kAlpacaLike, "4.5x", "0.3 and 4"},
};
// seconds for each rate
constexpr double kFineinferSeconds = 4;
// fractions of the rate that token pages sustain
constexpr std::array kFineinferLoads = {0.25, 0.5, 0.8, 1.2, 1.8};
constexpr std::int32_t kRowsPerSlab = 8;  // more rows than slabs, so that memory and not rows is
                                          // the bound
constexpr std::int32_t kCopies = 3;       // copies of a request that run side by side, as in the
                                          // paper
constexpr std::int32_t kTrials = 4;
constexpr std::array<std::pair<std::int32_t, std::int32_t>, 2> kSplits = {
    {{1024, 1024}, {256, 128}}};

/// The settings that all parts of the experiment share.
struct Setting {
  std::int32_t divisor = 1;  ///< the paper's lengths are divided by it
  std::int32_t longest = 0;  ///< tokens of a padded sequence
  std::int32_t slabs = 0;    ///< number of such sequences that the memory holds
  // Three ways of using one amount of memory.
  Contender padded{"padded", {}};
  Contender oracle{"reserved exactly", {}};
  Contender pages{"token pages", {}};
};

Setting setting_of(const RecipeSetup& setup, std::int32_t slabs) {
  Setting setting;
  setting.divisor = length_divisor(setup, kDataSets.front().lengths, kFineinferMostAlone);
  setting.longest = divided(kDataSets.front().lengths, setting.divisor).longest();
  setting.slabs = slabs;
  Config config = with_policy(setup, BatchPolicy::kFusion);
  config.max_context = setting.longest;
  setting.padded.config = config;
  setting.padded.config.admission = AdmissionMode::kReserve;
  setting.padded.config.page_tokens = setting.longest;
  setting.padded.config.max_pages = slabs;
  setting.pages.config = config;
  setting.pages.config.admission = AdmissionMode::kOptimistic;
  setting.pages.config.page_tokens = 1;
  setting.pages.config.max_pages = slabs * setting.longest;
  setting.oracle.config = setting.pages.config;
  setting.oracle.config.admission = AdmissionMode::kReserve;
  return setting;
}

/// The figures of one data set.
struct SetResult {
  const DataSet* set = nullptr;
  double alone = 0;               ///< normalized latency of one request
  std::array<FullLoad, 3> full;   ///< padded, reserved exactly, token pages
  std::vector<LoadCurve> curves;  ///< token pages, padded

  [[nodiscard]] std::vector<LatencyCurve> latencies() const {
    std::vector<LatencyCurve> all;
    for (const LoadCurve& curve : curves) {
      LatencyCurve points{curve.name, {}};
      for (const LoadPoint& point : curve.points) {
        points.points.emplace_back(point.rate, point.summary.normalized.mean);
      }
      all.push_back(std::move(points));
    }
    return all;
  }
};

SetResult measure_set(const RecipeSetup& setup, const Setting& setting, const DataSet& set) {
  const RequestLengths lengths = divided(set.lengths, setting.divisor);
  SetResult result;
  result.set = &set;
  const auto output = std::max(1, static_cast<std::int32_t>(std::lround(lengths.output.mean)));
  const auto prompt = std::max(1, static_cast<std::int32_t>(std::lround(lengths.prompt.mean)));
  result.alone = alone_seconds(setup, prompt, output) / output;
  const std::string name = set.name;
  std::size_t next = 0;
  for (const Contender* memory : {&setting.padded, &setting.oracle, &setting.pages}) {
    result.full[next++] =
        measure_full_load(setup, name + ", full load, " + memory->name, memory->config, lengths);
  }
  std::vector<double> rates;
  for (const double load : kFineinferLoads)
    rates.push_back(load * result.full[2].requests_per_second);
  result.curves = sweep(setup, name + ", ", std::array{setting.pages, setting.padded}, lengths,
                        rates, kFineinferSeconds);
  return result;
}

Table full_load_table(const Setting& setting, const std::vector<SetResult>& results) {
  Table table{"Under full load",
              {"", "mean running batch", "over padded", "requests/s", "tokens/s"},
              {},
              {}};
  for (const SetResult& result : results) {
    const FullLoad& padded = result.full[0];
    const std::array names = {setting.padded.name, setting.oracle.name, setting.pages.name};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const FullLoad& full = result.full[i];
      table.rows.push_back({std::string(result.set->name) + ", " + names[i], number(full.batch),
                            times_text(full.batch / padded.batch), number(full.requests_per_second),
                            number(full.tokens_per_second)});
    }
  }
  table.note =
      "One amount of memory. padded: each sequence holds a page of the longest that is allowed, "
      "our re-implementation of FineInfer's SimpleReqManager. reserved exactly: pages of a token, "
      "and a sequence begins when all that it will come to is free, which a server cannot know. "
      "Theirs (LLaMA 8B, RTX 3090; Nopad over SimpleReqManager, with up to 2.9 times the tokens "
      "in its cache): 4.7x for ShareGPT and 4.5x for Alpaca.";
  return table;
}

Table set_loads_table(const std::vector<SetResult>& results) {
  Table table{"Load and latency",
              {"", "offered, req/s", "served, req/s", "normalized mean", "p50", "mean batch"},
              {},
              "Normalized latency is end-to-end / output tokens."};
  for (const SetResult& result : results) {
    for (const LoadCurve& curve : result.curves) {
      for (const LoadPoint& point : curve.points) {
        table.rows.push_back({std::string(result.set->name) + ", " + curve.name, number(point.rate),
                              number(point.summary.requests_per_second()),
                              seconds_text(point.summary.normalized.mean),
                              seconds_text(point.summary.normalized.p50), number(point.batch)});
      }
    }
  }
  return table;
}

void add_set_figures(const SetResult& result, Report& report) {
  Figure latency{std::string(result.set->name) + ": normalized latency",
                 "Where a curve turns up, requests wait for memory or for rows.",
                 {"offered, requests/s", false},
                 {"mean normalized latency, s/token", true},
                 {}};
  Figure batch{std::string(result.set->name) + ": running batch",
               "Padded sequences fill the memory early; then the batch grows no more.",
               {"offered, requests/s", false},
               {"mean running batch", false},
               {}};
  for (const LoadCurve& curve : result.curves) {
    Series of_latency{curve.name, Series::Style::kLine, {}, false};
    Series of_batch = of_latency;
    for (const LoadPoint& point : curve.points) {
      of_latency.points.emplace_back(point.rate, point.summary.normalized.mean);
      of_batch.points.emplace_back(point.rate, point.batch);
    }
    latency.series.push_back(std::move(of_latency));
    batch.series.push_back(std::move(of_batch));
  }
  report.figures.push_back(std::move(latency));
  report.figures.push_back(std::move(batch));
}

void add_findings(const SetResult& result, Report& report) {
  const FullLoad& padded = result.full[0];
  const FullLoad& pages = result.full[2];
  report.findings.push_back(
      std::string(result.set->name) + ", full load: token pages run " + number(pages.batch) +
      " sequences at once where padded ones are " + number(padded.batch) + ", " +
      times_text(pages.batch / padded.batch) + " (theirs " + result.set->batch + "), and serve " +
      times_text(pages.requests_per_second / padded.requests_per_second) + " the requests.");
  const auto latencies = result.latencies();
  const AtEqualLatency equal(latencies, result.alone);
  report.tables.push_back(equal.table(
      latencies,
      std::string(result.set->name) + ": offered load at the same mean normalized latency"));
  report.tables.back().note +=
      std::string(" Theirs turns up at ") + result.set->rates +
      " requests/s, padded and with token pages, which have FlashAttention too.";
  report.findings.push_back(std::string(result.set->name) + ", " + equal.finding(latencies, 1));
}

boost::json::object set_json(const SetResult& result) {
  boost::json::object curves;
  for (const LoadCurve& curve : result.curves) {
    boost::json::array points;
    for (const LoadPoint& point : curve.points) points.push_back(to_json(point));
    curves[curve.name] = std::move(points);
  }
  return {{"alone_normalized", result.alone},
          {"full_load",
           {{"padded", to_json(result.full[0])},
            {"reserved_exactly", to_json(result.full[1])},
            {"token_pages", to_json(result.full[2])}}},
          {"curves", std::move(curves)}};
}

/// The figures for a pair of lengths and a way of using the memory.
struct SplitResult {
  std::string name;
  ForwardSplit split;
};

std::vector<SplitResult> measure_splits(const RecipeSetup& setup, const Setting& setting) {
  std::vector<SplitResult> results;
  for (const auto& [prompt, output] : kSplits) {
    const Arrival one{0, std::max(1, prompt / setting.divisor),
                      std::max(1, output / setting.divisor)};
    const auto requests =
        static_cast<std::size_t>(kCopies) * static_cast<std::size_t>(scaled(setup, kTrials));
    const Load load{std::vector<Arrival>(requests, one), kCopies};
    for (const Contender* memory : {&setting.padded, &setting.pages}) {
      const std::string name = "(" + std::to_string(one.prompt) + ", " +
                               std::to_string(one.output) + "), " + memory->name;
      results.push_back({name, split_forward(play(setup, name, memory->config, load))});
    }
  }
  return results;
}

void add_splits(const std::vector<SplitResult>& results, Report& report) {
  Table table{"Forward pass and everything else, three requests side by side",
              {"(prompt, output)", "whole", "forward", "everything else", "share", "a step"},
              {},
              "Medians of requests. Theirs, of CPU time at (1024, 1024): 0.788 s padded and "
              "1.06 s with token pages, 1.3 times as much."};
  Series forward{"forward", Series::Style::kBars, {}, false};
  Series others{"everything else", Series::Style::kBars, {}, false};
  std::string caption = "Cases";
  boost::json::array data;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& [name, split] = results[i];
    table.rows.push_back({name, seconds_text(split.whole), seconds_text(split.forward),
                          seconds_text(split.others), percent_text(split.others / split.whole),
                          seconds_text(split.others_per_step)});
    const auto place = static_cast<double>(i + 1);
    forward.points.emplace_back(place, split.forward);
    others.points.emplace_back(place, split.others);
    caption += (i == 0 ? " " : "; ") + std::to_string(i + 1) + ": " + name;
    data.push_back({{"case", name},
                    {"whole", split.whole},
                    {"forward", split.forward},
                    {"others", split.others},
                    {"others_per_step", split.others_per_step}});
    report.findings.push_back(name + ": everything but the forward pass takes " +
                              percent_text(split.others / split.whole) + " of a request's " +
                              seconds_text(split.whole) + ".");
  }
  report.tables.push_back(std::move(table));
  report.figures.push_back({"Forward pass and everything else",
                            caption + ".",
                            {"case", false},
                            {"seconds of a request", false},
                            {std::move(forward), std::move(others)}});
  report.data.as_object()["splits"] = std::move(data);
}

void tell_setting(const Setting& setting, Report& report) {
  for (const DataSet& set : kDataSets) {
    report.facts.emplace_back(set.name, lengths_text(divided(set.lengths, setting.divisor)));
  }
  if (setting.divisor > 1) {
    report.facts.emplace_back("lengths",
                              "theirs (means 161 and 338, 19 and 58; at most 1024 of "
                              "each) divided by " +
                                  std::to_string(setting.divisor) +
                                  ", for the model's context and minutes of time");
  }
  report.facts.emplace_back("KV memory", std::to_string(setting.slabs) + " sequences of " +
                                             std::to_string(setting.longest) + " tokens");
}

}  // namespace

Report fineinfer_load(const RecipeSetup& setup) {
  const RecipeSetup here = with_rows(setup);
  Report report = begin_report(
      here, "fineinfer-load: padded reservation and token-granular pages",
      "Normalized latency and running batch over Poisson rates with one amount of KV memory, and "
      "what of a request's time is not the forward pass, as in FineInfer's evaluation.");
  // There are at least as many slabs as copies, which run side by side, so that no copy waits for
  // another.
  const std::int32_t slabs = std::max(kCopies, here.config.max_rows / kRowsPerSlab);
  const Setting setting = setting_of(here, slabs);
  tell_setting(setting, report);
  std::vector<SetResult> results;
  for (const DataSet& set : kDataSets) results.push_back(measure_set(here, setting, set));
  report.tables = {full_load_table(setting, results), set_loads_table(results)};
  boost::json::object data{{"lengths_divided_by", setting.divisor},
                           {"kv_tokens", setting.slabs * setting.longest}};
  for (const SetResult& result : results) {
    add_findings(result, report);
    add_set_figures(result, report);
    data[result.set->name] = set_json(result);
  }
  report.data = std::move(data);
  add_splits(measure_splits(here, setting), report);
  return report;
}

}  // namespace weft::measure
