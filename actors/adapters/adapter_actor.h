#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/actors/adapters/adapter_messages.h"
#include "weft/actors/loading/served_model.h"
#include "weft/actors/preprocess/preprocess_pool.h"
#include "weft/actors/request_messages.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"

namespace weft {

/// Holds the requests whose adapter is being read, so that each can end at any time. A request
/// whose adapter is not in memory comes here from a PreprocessActor, and goes back to the pool with
/// the adapter. The AdapterReaderActor has one name at a time, and is not asked for a name for
/// which no request waits any more.
class AdapterActor {
 public:
  using Accepts = AdapterProtocol;

  /// `model` has a registry of adapters. `ending` wakes this actor by AdapterEndingMsg; a successor
  /// of this actor gets the same list.
  AdapterActor(ActorContext& context, std::shared_ptr<const ServedModel> model, PreprocessPool next,
               ActorRef<AdapterReaderProtocol> reader, std::shared_ptr<EndingRequests> ending);

  void on(PrepareMsg&& message);
  void on(AdapterEndingMsg&& message);
  void on(AdapterReadMsg&& message);
  void undelivered(PrepareMsg&& message, const Error& why);
  void undelivered(AdapterEndingMsg&& /*message*/, const Error& /*why*/) {}
  void undelivered(AdapterReadMsg&& /*message*/, const Error& /*why*/) {}
  void exiting(const Error& why);

 private:
  using Waiting = std::map<std::string, std::vector<PrepareMsg>, std::less<>>;

  void end_asked();
  void give_on(PrepareMsg&& message) const;
  void read_next();

  ActorContext& context_;
  const std::shared_ptr<const ServedModel> model_;
  const PreprocessPool next_;
  const ActorRef<AdapterReaderProtocol> reader_;
  const std::shared_ptr<EndingRequests> ending_;
  Waiting waiting_;  // by adapter; a list may be empty once its requests have ended
  std::deque<std::string> next_names_;  // to be read, each once; all are in waiting_
  std::string reading_;                 // the name that the reader has; empty: none
};

}  // namespace weft
