#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/actors/adapters/adapter_messages.h"
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
  /// `adapters` gets requests whose adapter has to be read; without it there are no adapters.
  PreprocessActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                  const std::vector<ReplicaEntry>& replicas, std::shared_ptr<ReplicaLoads> loads,
                  std::uint64_t seed, std::optional<ActorRef<AdapterProtocol>> adapters = {});

  void on(PrepareMsg&& message);
  void undelivered(PrepareMsg&& message, const Error& why);

 private:
  struct Replica {
    Sender<SchedulerProtocol> scheduler;
    std::shared_ptr<EndingRequests> ending;
  };

  /// Whether the request's adapter is in the message, if it has one. Otherwise the message is
  /// moved away: the request has failed, or the AdapterActor has it.
  [[nodiscard]] bool has_adapter(PrepareMsg& message);

  ActorContext& context_;
  const std::optional<ActorRef<AdapterProtocol>> adapters_;
  const std::shared_ptr<const ServedModel> model_;
  std::vector<Replica> replicas_;
  const std::shared_ptr<ReplicaLoads> loads_;
  std::uint64_t next_seed_;
};

}  // namespace weft
