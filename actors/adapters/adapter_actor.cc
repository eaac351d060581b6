#include "weft/actors/adapters/adapter_actor.h"

#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/failure.h"

namespace weft {

AdapterActor::AdapterActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                           PreprocessPool next)
    : context_(context), model_(std::move(model)), next_(std::move(next)) {}

void AdapterActor::on(PrepareMsg&& message) {
  const EndCause cause = message.ticket->end_cause();
  if (cause != EndCause::kNone && cause != EndCause::kStop) {
    return std::move(message.ticket).fail(request_ending(cause));
  }
  auto prepared = model_->adapters->prepare(message.ticket->request().adapter);
  if (!prepared) return std::move(message.ticket).fail(prepared.error());
  message.adapter = *std::move(prepared);
  const PushResult result = next_.try_send(std::move(message));
  if (!taken(result)) {
    std::move(message.ticket).fail(refusal_of(result, context_.system_ready()));
  }
}

void AdapterActor::on(ChangeAdapterMsg&& message) {
  message.done(change_adapter(*model_, message.change));
}

void AdapterActor::undelivered(PrepareMsg&& message, const Error& why) {
  std::move(message.ticket).fail(why);
}

void AdapterActor::undelivered(ChangeAdapterMsg&& message, const Error& why) {
  message.done(request_failure(why));
}

}  // namespace weft
