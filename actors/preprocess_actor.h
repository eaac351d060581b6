#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"

namespace weft {

/// One worker of the PreprocessPool: applies chat templates, makes tokens, checks parameters. It is
/// never on a tick's path.
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

}  // namespace weft
