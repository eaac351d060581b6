#include "weft/measure/engine/engine_load.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "weft/actors/loading/loaded_model.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

// A load that touches the memory before measuring: a prompt and some steps, of as many sequences as
// will run at once. A row that uses its memory for the first time waits for the system to clear it.
constexpr Arrival kWarmUp{0, 16, 4, RequestClass::kChat};

Load warm_up_for(const Load& load, const DeviceLimits& limits, std::size_t devices) {
  const auto rows = devices * static_cast<std::size_t>(limits.rows);
  const std::size_t most = load.at_once > 0 ? static_cast<std::size_t>(load.at_once) : rows;
  const std::size_t wanted = std::min({rows, most, load.arrivals.size()});
  return {std::vector<Arrival>(std::max(wanted, devices), kWarmUp), 0};
}

Result<void> check_fits(const Load& load, const DeviceLimits& limits) {
  for (const Arrival& arrival : load.arrivals) {
    const std::int64_t tokens = std::int64_t{arrival.prompt} + arrival.output;
    if (tokens > limits.context) {
      return Error{MeasureErrc::kBadLoad, "a request of " + std::to_string(arrival.prompt) + " + " +
                                              std::to_string(arrival.output) +
                                              " tokens does not fit a context of " +
                                              std::to_string(limits.context)};
    }
  }
  return {};
}

std::size_t count_threads() {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return error ? 0 : count;
}

/// Returns a configuration whose bounds allow each whole load.
Config bounds_for(const Config& config, std::span<const Load> loads) {
  Config bounds = config;
  for (const Load& load : loads) {
    std::int64_t tokens = config.max_queued_prompt_tokens;
    for (const Arrival& arrival : load.arrivals) tokens += arrival.prompt;
    bounds.max_queued_requests =
        std::max(bounds.max_queued_requests, static_cast<std::int32_t>(load.arrivals.size()));
    bounds.max_queued_prompt_tokens = std::max(bounds.max_queued_prompt_tokens, tokens);
  }
  return bounds;
}

bool is_stopped(const PlayOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

std::vector<StepRecord> steps_between(const std::vector<std::shared_ptr<StepMeter>>& meters,
                                      TimePoint began, TimePoint ended) {
  std::vector<StepRecord> steps;
  for (const auto& meter : meters) {
    std::ranges::copy_if(meter->records(), std::back_inserter(steps), [&](const StepRecord& one) {
      return one.began >= began && one.began < ended;
    });
  }
  std::ranges::sort(steps, {}, &StepRecord::began);
  return steps;
}

}  // namespace

Result<EngineRun> run_engine(const MeasuredModel& model, const Config& config, const Load& load,
                             std::uint64_t seed, const EngineRunOptions& options) {
  auto runs = run_engine_in_turn(model, config, {&load, 1}, seed, options);
  if (!runs) return runs.error();
  return std::move(runs->front());
}

Result<std::vector<EngineRun>> run_engine_in_turn(const MeasuredModel& model, const Config& config,
                                                  std::span<const Load> loads, std::uint64_t seed,
                                                  const EngineRunOptions& options) {
  auto loaded = load_served(model.opened, model.tokenizer, config);
  if (!loaded) return loaded.error();
  EngineRun empty;
  empty.limits = loaded->devices.front().front()->limits();
  empty.devices = loaded->devices.size();
  for (const Load& load : loads) {
    const auto fits = check_fits(load, empty.limits);
    if (!fits) return fits.error();
  }
  std::vector<std::shared_ptr<StepMeter>> meters;
  for (DeviceRanks& ranks : loaded->devices) {
    // The first rank's meter measures for all ranks.
    std::shared_ptr<StepDevice>& device = ranks.front();
    meters.push_back(std::make_shared<StepMeter>(options.wrap ? options.wrap(device) : device));
    device = meters.back();
  }
  std::vector<EngineRun> runs(loads.size(), empty);
  std::vector<TimePoint> ended(loads.size());
  try {
    const RunningPipeline pipeline(bounds_for(config, loads), *std::move(loaded));
    LoadPlayer player(*pipeline, seed);
    for (std::size_t i = 0; i < loads.size() && !is_stopped(options); ++i) {
      if (options.begin) options.begin(i);
      static_cast<void>(player.play(warm_up_for(loads[i], empty.limits, empty.devices)));
      runs[i].threads = count_threads();
      std::optional<TrainingBeside> beside;
      if (options.training) beside.emplace(*pipeline, options.training).begin_load();
      runs[i].outcomes = player.play(loads[i], options);
      runs[i].began = player.began();
      ended[i] = std::chrono::steady_clock::now();
      if (beside) runs[i].training = beside->end_load();
    }
  } catch (const std::exception& failure) {
    // There is too little memory, or there are too few threads, of which instances need many; or
    // the training has failed.
    return Error{MeasureErrc::kNoEngine, failure.what()};
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].steps = steps_between(meters, runs[i].began, ended[i]);
  }
  return runs;
}

double mean_batch(const std::vector<StepRecord>& steps) {
  double seconds = 0;
  double sum = 0;
  for (const StepRecord& step : steps) {
    seconds += step.seconds();
    sum += step.seconds() * step.sequences();
  }
  return seconds > 0 ? sum / seconds : 0;
}

}  // namespace weft::measure
