#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/actors/messages.h"
#include "weft/actors/pipeline_stats.h"
#include "weft/actors/served_model.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/core/mailbox/mailbox_word.h"

namespace weft {

/// One worker of the PreprocessPool: chat template, tokens, checks. Never on a tick's path.
class PreprocessActor {
 public:
  using Accepts = PreprocessProtocol;

  /// `replicas` are the schedulers; there are several only under BatchPolicy::kInstances. `seed`
  /// begins the seeds of requests that have none.
  PreprocessActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                  const std::vector<ActorRef<SchedulerProtocol>>& replicas, std::uint64_t seed);

  void on(PrepareMsg&& message);
  void undelivered(PrepareMsg&& message, const Error& why);

 private:
  ActorContext& context_;
  const std::shared_ptr<const ServedModel> model_;
  std::vector<Sender<SchedulerProtocol>> replicas_;
  std::uint64_t next_seed_;
};

/// The workers as one receiver: what is sent goes to the one with the least to do. Copies are
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
