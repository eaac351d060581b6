#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "weft/actors/request/active_request.h"
#include "weft/core/gate.h"

namespace weft {

/// The requests of an engine that have begun and not ended, so that all can be asked to end. Each
/// is a holder of the engine's gate until then. Thread-safe; the lock is taken when a request
/// begins and ends, never for what it produces.
class RequestsInFlight final : public ActiveRequest::Owner,
                               public std::enable_shared_from_this<RequestsInFlight> {
 public:
  /// Adds a request that is not submitted yet. Returns why it shall end at once: all were asked to
  /// while it began.
  EndCause add(ActiveRequest& request, Gate::Holder place);

  /// Asks all of them to end, and those that are added later.
  void end_all(EndCause cause);

  void ended(ActiveRequest& request) noexcept override;

 private:
  std::mutex mutex_;
  std::unordered_map<ActiveRequest*, Gate::Holder> places_;
  EndCause cause_ = EndCause::kNone;
};

}  // namespace weft
