#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/gpu/step_device.h"
#include "weft/gpu/training_work.h"
#include "weft/measure/engine/load_player.h"
#include "weft/measure/engine/measured_model.h"
#include "weft/measure/engine/training_beside.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/steps/step_meter.h"

namespace weft::measure {

/// Wraps a device that an engine uses.
using DeviceWrap = std::function<std::shared_ptr<StepDevice>(std::shared_ptr<StepDevice> device)>;

/// How a load is played on an engine of its own.
struct EngineRunOptions : PlayOptions {
  DeviceWrap wrap{};                              ///< applied to the device, below the meter of
                                                  ///< steps
  std::function<void(std::size_t load)> begin{};  ///< called before each of several loads
  std::shared_ptr<TrainingWork> training{};       ///< runs beside each load; null: none
};

/// The outcomes and steps of one load.
struct EngineRun {
  std::vector<Outcome> outcomes;  ///< in the order of arrivals; stopped requests have none
  /// The steps of all devices in the order in which they began, without the warm-up's steps.
  std::vector<StepRecord> steps;
  TrainingRun training;     ///< what was trained meanwhile
  TimePoint began{};        ///< when the first request was due
  DeviceLimits limits;      ///< the number of instances, under that policy
  std::size_t devices = 1;  ///< threads of this process during the run; 0 = not known
  std::size_t threads = 0;  ///< threads of this process during the run; 0 = not known
};

/// Makes an engine of a model as `config` says, warms it up, plays the load on it (LoadPlayer, with
/// `seed`) and ends the engine. On the caller's thread and the engine's own. kBadLoad where a
/// request cannot fit; kNoEngine without threads or memory; errors of load_served().
[[nodiscard]] Result<EngineRun> run_engine(const MeasuredModel& model, const Config& config,
                                           const Load& load, std::uint64_t seed,
                                           const EngineRunOptions& options = {});

/// Plays several loads, one after the other on one engine, each with its own warm-up, so that a
/// model is loaded only once. Stopping one load ends all.
[[nodiscard]] Result<std::vector<EngineRun>> run_engine_in_turn(
    const MeasuredModel& model, const Config& config, std::span<const Load> loads,
    std::uint64_t seed, const EngineRunOptions& options = {});

/// Returns the mean number of sequences in a step, weighted by the steps' times: the mean batch.
[[nodiscard]] double mean_batch(const std::vector<StepRecord>& steps);

}  // namespace weft::measure
