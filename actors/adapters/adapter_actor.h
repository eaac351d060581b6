#pragma once

#include <memory>

#include "weft/actors/adapters/adapter_messages.h"
#include "weft/actors/loading/served_model.h"
#include "weft/actors/preprocess/preprocess_pool.h"
#include "weft/actors/request_messages.h"
#include "weft/core/actor/actor.h"

namespace weft {

/// Reads adapters, one at a time, so that neither requests nor ticks wait for files of others. A
/// request whose adapter is not in memory comes here from a PreprocessActor, and goes back to the
/// pool with the adapter.
class AdapterActor {
 public:
  using Accepts = AdapterProtocol;

  /// `model` has a registry of adapters.
  AdapterActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
               PreprocessPool next);

  void on(PrepareMsg&& message);
  void on(ChangeAdapterMsg&& message);
  void undelivered(PrepareMsg&& message, const Error& why);
  void undelivered(ChangeAdapterMsg&& message, const Error& why);

 private:
  ActorContext& context_;
  const std::shared_ptr<const ServedModel> model_;
  const PreprocessPool next_;
};

}  // namespace weft
