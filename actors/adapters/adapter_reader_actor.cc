#include "weft/actors/adapters/adapter_reader_actor.h"

#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/failure.h"

namespace weft {

AdapterReaderActor::AdapterReaderActor(ActorContext& context,
                                       std::shared_ptr<const ServedModel> model,
                                       ActorRef<AdapterProtocol> waiting)
    : context_(context), model_(std::move(model)), waiting_(std::move(waiting)) {}

// An AdapterActor that takes no message has exited, and its requests have ended with it: the
// mailbox has room for a message of each request.
void AdapterReaderActor::on(ReadAdapterMsg&& message) {
  auto adapter = model_->adapters->prepare(message.name);
  static_cast<void>(waiting_.try_send(AdapterReadMsg{std::move(message.name), std::move(adapter)},
                                      context_.id()));
}

void AdapterReaderActor::on(ChangeAdapterMsg&& message) {
  message.done(change_adapter(*model_, message.change));
}

void AdapterReaderActor::undelivered(ReadAdapterMsg&& message, const Error& why) {
  static_cast<void>(waiting_.try_send(AdapterReadMsg{std::move(message.name), request_failure(why)},
                                      context_.id()));
}

void AdapterReaderActor::undelivered(ChangeAdapterMsg&& message, const Error& why) {
  message.done(request_failure(why));
}

}  // namespace weft
