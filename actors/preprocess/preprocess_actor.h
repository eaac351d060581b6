#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/replicas/replica_loads.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"

namespace weft {

/// Where a replica takes requests, and where those are put that shall end.
struct ReplicaEntry {
  ActorRef<SchedulerProtocol> scheduler;
  std::shared_ptr<EndingRequests> ending;
};

/// One worker of the PreprocessPool: applies chat templates, makes tokens, checks parameters, and
/// chooses the replica. It is never on a tick's path.
class PreprocessActor {
 public:
  using Accepts = PreprocessProtocol;

  /// `loads` are those of `replicas`, shared by all workers. `seed` begins the seeds of requests
  /// that have none.
  PreprocessActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                  const std::vector<ReplicaEntry>& replicas, std::shared_ptr<ReplicaLoads> loads,
                  std::uint64_t seed);

  void on(PrepareMsg&& message);
  void undelivered(PrepareMsg&& message, const Error& why);

 private:
  struct Replica {
    Sender<SchedulerProtocol> scheduler;
    std::shared_ptr<EndingRequests> ending;
  };

  ActorContext& context_;
  const std::shared_ptr<const ServedModel> model_;
  std::vector<Replica> replicas_;
  const std::shared_ptr<ReplicaLoads> loads_;
  std::uint64_t next_seed_;
};

}  // namespace weft
