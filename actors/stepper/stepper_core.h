#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/pipeline_tick.h"
#include "weft/actors/request/active_request.h"
#include "weft/actors/request/request_bounds.h"
#include "weft/actors/request/scheduled_requests.h"
#include "weft/actors/stepper/step_sink.h"
#include "weft/actors/stepper/stepper.h"
#include "weft/schedule/scheduler.h"

namespace weft {

/// The implementation of Stepper: the parts of the pipeline, called one after the other.
class StepperCore {
 public:
  StepperCore(const Config& config, ServedModel model, std::shared_ptr<StepDevice> device,
              std::shared_ptr<const Clock> clock);
  StepperCore(const StepperCore&) = delete;
  StepperCore& operator=(const StepperCore&) = delete;
  ~StepperCore() = default;

  [[nodiscard]] Result<RequestId> add(Request&& request);
  bool end(RequestId id, EndCause cause) noexcept;
  [[nodiscard]] std::vector<StepOutput> infer(std::optional<TimePoint> deadline);

  [[nodiscard]] bool idle() const noexcept { return live_.empty(); }
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] const std::shared_ptr<const ServedModel>& model() const noexcept { return model_; }

 private:
  /// An active request.
  struct Live {
    std::shared_ptr<ActiveRequest> request;
    std::int64_t prompt_tokens = 0;  ///< by estimate
  };

  [[nodiscard]] Result<RequestId> begin(Request&& request, std::int64_t prompt_tokens);
  [[nodiscard]] Result<AdapterRegistry::Prepared> adapter_of(const Request& request) const;
  void step(std::optional<TimePoint> deadline);
  [[nodiscard]] bool run_device();
  void lose_step(const Error& why, bool device_lost);
  void give_ends() noexcept;
  void give_up(const Error& why);

  const QueueBounds bounds_;
  const std::shared_ptr<const ServedModel> model_;
  const std::shared_ptr<StepDevice> device_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<EndingRequests> ending_ = std::make_shared<EndingRequests>(nullptr);
  IdSource<RequestKind> ids_;
  std::uint64_t next_seed_;
  StepOutputs outputs_;  // outlives the requests, whose sinks refer to it
  ScheduledRequests requests_;
  Scheduler scheduler_;
  PipelineTick tick_;
  std::unordered_map<RequestId, Live> live_;
  std::int64_t live_prompt_tokens_ = 0;
  std::uint64_t finished_ = 0;
  bool ready_ = true;
};

}  // namespace weft
