#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/step_device.h"
#include "weft/measure/engine/measured_model.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/steps/step_meter.h"

namespace weft::measure {

/// Puts something between the engine and a device.
using DeviceWrap = std::function<std::shared_ptr<StepDevice>(std::shared_ptr<StepDevice> device)>;

/// What is asked about a run while it goes on, from the thread that runs it.
struct EngineRunOptions {
  /// How many requests have ended, of how many; a few times a second.
  std::function<void(std::size_t done, std::size_t of)> progress{};
  /// When it becomes true, what runs is cancelled and what has not begun is left out.
  const std::atomic<bool>* stop = nullptr;
  DeviceWrap wrap{};  ///< below the meter of steps
};

/// What became of a load.
struct EngineRun {
  std::vector<Outcome> outcomes;  ///< by arrival; none of requests that were stopped
  /// The steps of all devices in the order of their beginnings, without the warm-up's.
  std::vector<StepRecord> steps;
  TimePoint began{};        ///< when the first request was due
  DeviceLimits limits;      ///< of each device
  std::size_t devices = 1;  ///< instances, under that policy
  std::size_t threads = 0;  ///< of this process while it ran; 0 = not known
};

/// Makes an engine of a model as `config` says, sends it each request of the load at its time,
/// whatever became of those before it, waits for all and ends the engine. Prompts are drawn with
/// `seed`; outputs have exactly the length asked for and are greedy. On the caller's thread and the
/// engine's own. kBadLoad where a request cannot fit; kNoEngine without
/// threads or memory; errors of load_served().
[[nodiscard]] Result<EngineRun> run_engine(const MeasuredModel& model, const Config& config,
                                           const Load& load, std::uint64_t seed,
                                           const EngineRunOptions& options = {});

/// The mean of the sequences of a step, weighted by how long the steps took: the mean batch.
[[nodiscard]] double mean_batch(const std::vector<StepRecord>& steps);

}  // namespace weft::measure
