#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/measure/steps/device_peak.h"
#include "weft/measure/steps/step_work.h"

namespace weft::measure {

/// The steps of a model that are measured, and their device.
struct StepWishes {
  std::string device = "cpu";
  int threads = 0;                ///< threads of the host; 0: all
  std::optional<DType> kv_dtype;  ///< without: kv_dtype_for()
  bool rounds_rows = false;       ///< DeviceLimits::rounds_rows
  std::int32_t page_tokens = 16;
  std::vector<std::int32_t> batches = {1, 8, 32};  ///< sequences that decode together
  std::vector<std::int32_t> contexts = {
      128, 1024};  ///< tokens that each sequence attends to, including its own
  std::vector<std::int32_t> prompts = {128, 512};  ///< tokens of a prompt that is computed alone
  std::int32_t steps = 8;                          ///< steps in a row, whose mean is one
                                                   ///< measurement
  std::int32_t repeats = 9;                        ///< measurements, each in turn with a
                                                   ///< measurement of the limit
  std::uint64_t seed = 1;                          ///< seed of tokens and choices
  /// For a partition: the programs of its ranks, by stage (stages_of()); else empty.
  std::vector<std::vector<std::shared_ptr<const Program>>> stages{};
};

/// The most tokens of a step: the default of a server's memory.max_step_tokens.
inline constexpr std::int32_t kMostStepTokens = 512;

struct Quartiles {
  double low = 0, median = 0, high = 0;

  /// The quartiles of at least one value.
  [[nodiscard]] static Quartiles of(const std::vector<double>& values);
};

/// The figures of one kind of step, and of the limit that was measured in turn with it.
struct StepCell {
  std::int32_t batch = 1;   ///< sequences
  std::int32_t tokens = 0;  ///< context of each sequence; the whole length of a prompt
  StepWork work;
  Quartiles seconds;                   ///< seconds of a step, or of a prompt in all its steps
  Quartiles reading;                   ///< seconds for work.bytes
  std::optional<Quartiles> computing;  ///< seconds for work.operations
  /// The greater of `reading` and `computing` divided by the measured time, for each pair (the
  /// roofline model). Where computing is not measured, only reading counts.
  Quartiles of_limit;
  std::optional<Quartiles> of_peak;  ///< computing divided by the measured time
  Quartiles times_first;  ///< tokens a second divided by those of the smallest batch, measured in
                          ///< turn

  /// Returns tokens a second: the chosen tokens, or a prompt's tokens.
  [[nodiscard]] double rate(bool prefill) const noexcept;
  [[nodiscard]] bool computes() const noexcept;  ///< whether computing is the limit, not reading
};

struct StepFigures {
  std::vector<StepCell> decode;   ///< in the order of context, then batch
  std::vector<StepCell> prefill;  ///< in the order of tokens
  std::int32_t step_tokens = 0;   ///< most tokens of a step
  std::int64_t weight_bytes = 0;
  std::int64_t kv_bytes = 0;  ///< bytes of a token's keys and values
  std::string reader, computer;
};

/// Returns the programs of a device's ranks, by stage; empty where the device is no partition.
/// Errors of compile_parts().
[[nodiscard]] Result<std::vector<std::vector<std::shared_ptr<const Program>>>> stages_of(
    const OpenedModel& model, const std::string& device);

/// Returns the device whose limits are compared with steps on `device`. For a partition it is the
/// first device, or the host where a stage is there, because the host is by far the slowest.
[[nodiscard]] std::string limiting_device(const std::string& device);

/// Returns the bytes of the step that reads the most of these; make_device_peak() takes them.
[[nodiscard]] double most_bytes(const Program& program, const StepWishes& wishes);

/// Called with the number of steps that have run, and of all steps.
using StepProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Loads a model for such steps. Errors of load_step_devices(); errors about memory name the flags
/// that ask for it. kBadSteps where the model has no such steps, because it is an encoder, or its
/// context is too short.
[[nodiscard]] Result<StepDevices> load_for_steps(const OpenedModel& model, const StepWishes& wishes,
                                                 const LoadProgress& progress = {});

/// Returns the first instance of load_for_steps(): the device, or all ranks as one device.
[[nodiscard]] std::shared_ptr<StepDevice> as_one_device(const StepDevices& loaded);

/// Measures all steps. `device` comes from load_for_steps(), or has limits like it. The work of a
/// partition is the least that its stages need, one after the other. On GPUs it is the work of the
/// rank that reads the most, since each has its own memory; on the host it is the work of all
/// ranks. Where some stages are on the host only these count. Errors of the peak; kDriver for a
/// step that fails.
[[nodiscard]] Result<StepFigures> measure_steps(StepDevice& device, const Program& program,
                                                DevicePeak& peak, const StepWishes& wishes,
                                                const StepProgress& progress = {});

}  // namespace weft::measure
