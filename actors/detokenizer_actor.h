#pragma once

#include <memory>

#include "weft/actors/messages.h"
#include "weft/actors/pipeline_observer.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"

namespace weft {

/// Turns tokens into text and gives it to the requests' sinks, incrementally, in whole characters,
/// and up to the first stop string. A tick in which stop strings were hit goes back to the
/// scheduler with the hits; the actor frees all other ticks itself.
///
/// It keeps no state between messages: a request's state arrives with its tokens and leaves with
/// its EndMsg. When the actor fails, the requests of the current tick are asked to end.
class DetokenizerActor {
 public:
  using Accepts = DetokenizerProtocol;

  /// `observer` may be null.
  DetokenizerActor(ActorContext& context, std::shared_ptr<TickPool> ticks,
                   const ActorRef<SchedulerProtocol>& scheduler,
                   std::shared_ptr<PipelineObserver> observer);

  void on(DeliverMsg&& message);
  void on(EndMsg&& message);
  void undelivered(DeliverMsg&& message, const Error& why);
  void undelivered(EndMsg&& message, const Error& why);

 private:
  ActorContext& context_;
  const std::shared_ptr<TickPool> ticks_;
  Sender<SchedulerProtocol> scheduler_;
  const std::shared_ptr<PipelineObserver> observer_;
};

}  // namespace weft
