#pragma once

#include <utility>
#include <vector>

#include "weft/actors/request_messages.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/core/mailbox/mailbox_word.h"

namespace weft {

/// The workers as one receiver: a message goes to the worker with the least to do. Copies are
/// cheap. Thread-safe.
class PreprocessPool {
 public:
  explicit PreprocessPool(std::vector<ActorRef<PreprocessProtocol>> workers)
      : workers_(std::move(workers)) {}

  /// Moves the message to a worker, or leaves it as it was when none takes it: see PushResult.
  [[nodiscard]] PushResult try_send(PrepareMsg&& message) const noexcept;

 private:
  std::vector<ActorRef<PreprocessProtocol>> workers_;
};

}  // namespace weft
