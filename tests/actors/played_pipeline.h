#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"
#include "weft/tests/fixture/deterministic_system.h"
#include "weft/tests/gpu/device_kinds.h"

namespace weft::test {

/// The resources of a pipeline.
struct PipelineShape {
  const char* name = "";
  std::int32_t rows = 8;
  std::int32_t step_tokens = 512;  ///< no fewer than an encoder's input
  std::int32_t page_tokens = 16;
  std::int32_t pages = 0;  ///< 0: as many as all rows can use
  std::int64_t context = 72;
  KvLayout layout = KvLayout::kPages;
  AdmissionMode admission = AdmissionMode::kOptimistic;
  std::int32_t decode_every = 1;
  std::int32_t guesses = 0;  ///< of a row in a step, at most
  bool chooses_at_once = false;
  bool drafts = false;  ///< the device has a draft model, which is said to take no time
  /// A step is said to take 100 us for each token; 0: no step is too long.
  std::chrono::microseconds target_inter_token{0};
};

/// How a request ended, and its outputs.
struct PlayedRequest {
  std::vector<std::vector<TokenId>> outputs;  ///< without the tokens that ended them
  std::optional<Finish> end;
};

/// The sizes of the plans that ran.
struct PlanSizes {
  std::int32_t most_tokens = 0;
  std::int32_t longest_entry = 0;  ///< of tokens that were known
  std::size_t most_entries = 0;
};

/// Devices of one model, for whatever limits a test plays.
using MakeDevice = std::function<std::unique_ptr<StepDevice>(const DeviceLimits& limits)>;

/// Makes devices of the host, with one thread each, which share their weights.
[[nodiscard]] MakeDevice host_devices(const OpenedModel& model, DType kv_dtype = DType::kF32);

/// Makes devices of any kind, each with weights of its own.
[[nodiscard]] MakeDevice devices_of(const DeviceKind& kind, const OpenedModel& model);

/// The real actors over a model, one thread and a virtual clock: messages are delivered
/// in an order that a seed chooses, and the scheduler's invariants are checked after each.
class PlayedPipeline {
 public:
  /// `program` is what the devices run.
  PlayedPipeline(const MakeDevice& make_device, const Program& program, const PipelineShape& shape,
                 std::uint64_t seed);

  /// Gives the pipeline all requests, each after the one before it has had `between` messages, and
  /// waits for their ends.
  std::vector<PlayedRequest> play(std::span<const Request> requests, std::size_t between = 0);

  [[nodiscard]] EngineStats stats() const { return pipeline_->stats(); }
  [[nodiscard]] const PlanSizes& sizes() const noexcept { return sizes_; }

 private:
  std::mt19937_64 random_;
  DeterministicSystem system_;
  PlanSizes sizes_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace weft::test
