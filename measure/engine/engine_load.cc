#include "weft/measure/engine/engine_load.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "weft/actors/loading/loaded_model.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

// What touches memory for the first time: a prompt and some steps, of as many sequences as will run
// at once. A row that is new to its memory waits for the system to clear it.
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

}  // namespace

Result<EngineRun> run_engine(const MeasuredModel& model, const Config& config, const Load& load,
                             std::uint64_t seed, const EngineRunOptions& options) {
  auto loaded = load_served(model.opened, model.tokenizer, config);
  if (!loaded) return loaded.error();
  EngineRun run;
  run.limits = loaded->devices.front().front()->limits();
  run.devices = loaded->devices.size();
  const auto fits = check_fits(load, run.limits);
  if (!fits) return fits.error();
  std::vector<std::shared_ptr<StepMeter>> meters;
  for (DeviceRanks& ranks : loaded->devices) {
    // The first rank stands for all.
    std::shared_ptr<StepDevice>& device = ranks.front();
    meters.push_back(std::make_shared<StepMeter>(options.wrap ? options.wrap(device) : device));
    device = meters.back();
  }
  try {
    Config bounds = config;
    bounds.max_queued_requests =
        std::max(config.max_queued_requests, static_cast<std::int32_t>(load.arrivals.size()));
    for (const Arrival& arrival : load.arrivals) bounds.max_queued_prompt_tokens += arrival.prompt;
    const RunningPipeline pipeline(bounds, *std::move(loaded));
    LoadPlayer player(*pipeline, seed);
    static_cast<void>(player.play(warm_up_for(load, run.limits, run.devices)));
    run.threads = count_threads();
    run.outcomes = player.play(load, options);
    run.began = player.began();
  } catch (const std::exception& failure) {
    // Threads, of which instances want many, or memory.
    return Error{MeasureErrc::kNoEngine, failure.what()};
  }
  for (const auto& meter : meters) {
    for (const StepRecord& record : meter->records()) {
      if (record.began >= run.began) run.steps.push_back(record);
    }
  }
  std::ranges::sort(run.steps, {}, &StepRecord::began);
  return run;
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
