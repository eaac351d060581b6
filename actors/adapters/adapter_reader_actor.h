#pragma once

#include <memory>

#include "weft/actors/adapters/adapter_messages.h"
#include "weft/actors/loading/served_model.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"

namespace weft {

/// Reads adapters, one at a time, so that neither requests nor ticks wait for files of others.
class AdapterReaderActor {
 public:
  using Accepts = AdapterReaderProtocol;

  /// `model` has a registry of adapters. `waiting` gets what was read.
  AdapterReaderActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                     ActorRef<AdapterProtocol> waiting);

  void on(ReadAdapterMsg&& message);
  void on(ChangeAdapterMsg&& message);
  void undelivered(ReadAdapterMsg&& message, const Error& why);
  void undelivered(ChangeAdapterMsg&& message, const Error& why);

 private:
  ActorContext& context_;
  const std::shared_ptr<const ServedModel> model_;
  const ActorRef<AdapterProtocol> waiting_;
};

}  // namespace weft
