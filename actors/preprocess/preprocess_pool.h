#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/actors/preprocess/preprocess_share.h"
#include "weft/actors/request_messages.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/core/mailbox/mailbox_word.h"

namespace weft {

/// The workers as one receiver: a message goes to the worker with the fewest bytes of prompts to
/// prepare, the message at work included. Prompts of defaults::kLargePromptBytes and more go to the
/// first half of the workers only, so that small prompts do not wait for large ones; a single
/// worker takes all in their order. Copies are cheap. Thread-safe.
class PreprocessPool {
 public:
  /// `workers` has at least one.
  explicit PreprocessPool(const std::vector<ActorRef<PreprocessProtocol>>& workers);

  /// Moves the message, which has a request, to a worker, or leaves it as it was when none takes
  /// it: see PushResult.
  [[nodiscard]] PushResult try_send(PrepareMsg&& message) const noexcept;

 private:
  struct Worker {
    ActorRef<PreprocessProtocol> actor;
    std::shared_ptr<PreprocessShare::Load> load;
  };

  PushResult send_to(const Worker& worker, PrepareMsg& message, std::int64_t bytes) const noexcept;

  std::vector<Worker> workers_;
};

}  // namespace weft
