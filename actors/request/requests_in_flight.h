#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "weft/actors/request/active_request.h"
#include "weft/core/gate.h"

namespace weft {

/// The active requests of an engine, so that all can be asked to end. Each holds the engine's gate
/// until its end. Thread-safe; the lock is taken when a request begins and ends, never for its
/// output.
class RequestsInFlight final : public ActiveRequest::Owner,
                               public std::enable_shared_from_this<RequestsInFlight> {
 public:
  /// Adds a request that is not submitted yet. Returns a cause to end it at once if all requests
  /// were asked to end meanwhile.
  EndCause add(ActiveRequest& request, Gate::Holder place);

  /// Asks all present and later requests to end.
  void end_all(EndCause cause);

  void ended(ActiveRequest& request) noexcept override;

 private:
  std::mutex mutex_;
  std::unordered_map<ActiveRequest*, Gate::Holder> places_;
  EndCause cause_ = EndCause::kNone;
};

}  // namespace weft
