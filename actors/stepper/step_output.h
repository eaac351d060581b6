#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/request.h"
#include "weft/core/ids.h"

namespace weft {

/// One request's results of a call of Stepper::infer().
struct StepOutput {
  RequestId id{};
  /// In the order in which it came; one output may have several, and one of them several tokens (a
  /// beam search gives all at its end).
  std::vector<Delta> deltas{};
  /// The terminal event: how each output ended, usage, and the error for FinishReason::kError and
  /// kCancelled. It is the request's last event, and its id is no longer valid.
  std::optional<Finish> end{};
  /// Set with the end: GenerationResult::not_enforced; null: outputs follow all schemas.
  std::shared_ptr<const std::vector<std::string>> not_enforced{};
};

}  // namespace weft
