#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "weft/actors/active_request.h"
#include "weft/actors/stream_state.h"
#include "weft/core/gate.h"

namespace weft {

/// The requests of an engine that have begun and not ended, so that all can be asked to end. Each
/// holds its place in the engine's gate until then. Thread-safe; the lock is taken when a request
/// begins and ends, never for what it produces.
class RequestsInFlight final : public StreamState::Owner,
                               public std::enable_shared_from_this<RequestsInFlight> {
 public:
  /// The stream's request is set and not submitted yet. Returns why it shall end at once: all were
  /// asked to while it began.
  EndCause add(StreamState& stream, Gate::Holder place);

  /// Asks all of them, and those that are added later.
  void end_all(EndCause cause);

  void ended(StreamState& stream) noexcept override;

 private:
  std::mutex mutex_;
  std::unordered_map<const StreamState*, Gate::Holder> places_;
  EndCause cause_ = EndCause::kNone;
};

}  // namespace weft
