#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/actors/preprocess/preprocess_share.h"
#include "weft/actors/request_messages.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/core/mailbox/mailbox_word.h"

namespace weft {

/// The workers as one receiver. Requests that are large (preprocess_cost.h) go to workers of their
/// own, whose threads have a low priority, so that small requests never wait for large ones, and
/// the model's threads keep their processors. Of both kinds of workers the one gets a message that
/// has the fewest bytes of prompts to prepare, the message at work included. Copies are cheap.
/// Thread-safe.
class PreprocessPool {
 public:
  using Workers = std::vector<ActorRef<PreprocessProtocol>>;

  /// There is at least one worker of each kind.
  PreprocessPool(const Workers& for_small, const Workers& for_large);

  /// Moves the message, which has a request, to a worker, or leaves it as it was when none takes
  /// it: see PushResult.
  [[nodiscard]] PushResult try_send(PrepareMsg&& message) const noexcept;

 private:
  struct Worker {
    ActorRef<PreprocessProtocol> actor;
    std::shared_ptr<PreprocessShare::Load> load;
  };

  static std::vector<Worker> with_loads(const Workers& actors);
  static PushResult send_to(const Worker& worker, PrepareMsg& message, std::int64_t bytes) noexcept;

  std::vector<Worker> for_small_;
  std::vector<Worker> for_large_;
};

}  // namespace weft
