#include "weft/measure/engine/recipe_runs.h"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <utility>

#include "weft/config/replicas_text.h"
#include "weft/gpu/ranks/partition.h"

namespace weft::measure {
namespace {

bool stopped(const RecipeSetup& setup) {
  return setup.stop != nullptr && setup.stop->load(std::memory_order_relaxed);
}

// Requests that run alone, one after the other. On a host whose first request touches all weights,
// the second already takes the usual time; where clocks or caches take longer to settle, some of
// these requests do.
constexpr std::size_t kAlone = 8;

bool agree(double one, double other) {
  constexpr double kTenth = 0.1;
  return std::abs(one - other) <= kTenth * std::max(one, other);
}

std::string fixed_digits(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::vector<EngineRun> play_all(const RecipeSetup& setup, const Config& config,
                                const std::vector<NamedLoad>& named, const DeviceWrap& wrap,
                                const std::shared_ptr<TrainingWork>& training) {
  std::vector<Load> loads;
  for (const NamedLoad& one : named) loads.push_back(one.load);
  EngineRunOptions options;
  options.progress = setup.progress;
  options.stop = setup.stop;
  options.wrap = wrap;
  options.training = training;
  if (setup.begin_part) {
    setup.begin_part(named.front().part);  // loading the model is part of the first load
    options.begin = [&](std::size_t load) {
      if (load > 0) setup.begin_part(named[load].part);
    };
  }
  auto runs = run_engine_in_turn(setup.model, config, loads, setup.seed, options).value();
  if (stopped(setup)) {
    throw boost::system::system_error(make_error_code(boost::system::errc::operation_canceled));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].outcomes = require_served(std::move(runs[i].outcomes), named[i].part);
  }
  return runs;
}

}  // namespace

EngineRun play(const RecipeSetup& setup, std::string_view part, const Config& config,
               const Load& load, const DeviceWrap& wrap,
               const std::shared_ptr<TrainingWork>& training) {
  return std::move(play_all(setup, config, {{std::string(part), load}}, wrap, training).front());
}

std::vector<EngineRun> play_in_turn(const RecipeSetup& setup, const Config& config,
                                    const std::vector<NamedLoad>& loads) {
  return play_all(setup, config, loads, {}, {});
}

bool runs_on_host(const Config& config) {
  const auto texts = replica_devices(config);
  if (!texts) return false;
  return std::ranges::all_of(*texts, [](const std::string& text) {
    const auto partition = parse_partition(text);
    if (!partition) return false;
    const auto devices = devices_of(*partition);
    return devices && *devices == RankDevices::kHost;
  });
}

Config with_policy(const RecipeSetup& setup, BatchPolicy policy) {
  Config config = setup.config;
  config.policy = policy;
  return config;
}

std::string round_part(const RecipeSetup& setup, std::int32_t round) {
  return setup.repeats > 1 ? "round " + std::to_string(round + 1) + ", " : std::string();
}

std::int32_t scaled(const RecipeSetup& setup, std::int32_t count, std::int32_t least) {
  const double wanted = std::round(count * setup.scale);
  return std::max(least, static_cast<std::int32_t>(wanted));
}

AloneTime settled_time(std::span<const double> seconds) {
  std::size_t first = 1;
  while (first < seconds.size() && !agree(seconds[first - 1], seconds[first])) ++first;
  const bool has_settled = first < seconds.size();
  const std::size_t warm = has_settled ? first - 1 : seconds.size() / 2;
  const auto counted = seconds.subspan(warm);
  return {median({counted.begin(), counted.end()}), has_settled};
}

double alone_seconds(const RecipeSetup& setup, std::int32_t prompt, std::int32_t output) {
  const Load one_after_the_other{std::vector<Arrival>(kAlone, Arrival{0, prompt, output}), 1};
  const EngineRun run = play(setup, "one request alone", with_policy(setup, BatchPolicy::kFusion),
                             one_after_the_other);
  std::vector<double> seconds;
  for (const Outcome& one : run.outcomes) seconds.push_back(one.end);
  const AloneTime time = settled_time(seconds);
  if (!time.has_settled && setup.warn) {
    const auto [least, most] = std::ranges::minmax(seconds);
    setup.warn("The unit of this report, one request alone, is unsure: of " +
               std::to_string(seconds.size()) + " one after the other no two in a row took the " +
               "same within 10 %, but " + seconds_text(least) + " to " + seconds_text(most) + ".");
  }
  return time.seconds;
}

std::vector<std::pair<double, double>> tokens_over_time(const std::vector<Outcome>& outcomes) {
  std::vector<double> times;
  for (const Outcome& one : outcomes) {
    for (const double came : one.came) times.push_back(one.began + came);
  }
  std::ranges::sort(times);
  const std::size_t count = std::min<std::size_t>(512, times.size());
  std::vector<std::pair<double, double>> points{{0, 0}};
  for (std::size_t point = 1; point <= count; ++point) {
    const std::size_t tokens = point * times.size() / count;
    points.emplace_back(times[tokens - 1], static_cast<double>(tokens));
  }
  return points;
}

Report begin_report(const RecipeSetup& setup, std::string title, std::string summary) {
  Report report;
  report.title = std::move(title);
  report.summary = std::move(summary);
  report.facts = {{"model", setup.model.name},
                  {"device", replica_devices_text(setup.config)},
                  {"threads", threads_text(setup.config)},
                  {"seed", std::to_string(setup.seed)}};
  if (setup.config.max_rows > 0) {
    report.facts.emplace_back("rows", std::to_string(setup.config.max_rows));
  }
  // Other work of the machine shows in every figure of the host.
  double load = 0;
  if (getloadavg(&load, 1) == 1) report.facts.emplace_back("load average", number(load));
  if (setup.scale != 1) report.facts.emplace_back("scale", number(setup.scale));
  return report;
}

std::string threads_text(const Config& config) {
  return config.threads == 0 ? "one for each core" : std::to_string(config.threads);
}

Figure make_figure(std::string title, std::string caption, Axis x, Axis y) {
  Figure figure;
  figure.title = std::move(title);
  figure.caption = std::move(caption);
  figure.x = std::move(x);
  figure.y = std::move(y);
  return figure;
}

Axis linear(std::string title) {
  Axis axis;
  axis.title = std::move(title);
  return axis;
}

Axis logarithmic(std::string title) {
  Axis axis = linear(std::move(title));
  axis.logarithmic = true;
  return axis;
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return number(seconds * 1e6) + " us";
  if (seconds < 1) return number(seconds * 1e3) + " ms";
  return number(seconds) + " s";
}

std::string with_range(const std::vector<double>& values, std::string (*text)(double value)) {
  std::string whole = text(median(values));
  if (values.size() < 2) return whole;
  const auto [least, most] = std::ranges::minmax(values);
  whole += " [" + text(least) + ", " + text(most) + "]";
  return whole;
}

std::string times_text(double ratio) {
  return std::isfinite(ratio) ? fixed_digits(ratio, 2) + "x" : "n/a";
}

}  // namespace weft::measure
