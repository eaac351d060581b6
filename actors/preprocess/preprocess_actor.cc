#include "weft/actors/preprocess/preprocess_actor.h"

#include <string>
#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/failure.h"
#include "weft/actors/request/prompt/prompt.h"
#include "weft/actors/request/request_text.h"
#include "weft/text/chat/chat_encoder.h"

namespace weft {

PreprocessActor::PreprocessActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                                 const std::vector<ReplicaEntry>& replicas,
                                 std::shared_ptr<ReplicaLoads> loads, std::uint64_t seed,
                                 std::optional<ActorRef<AdapterProtocol>> adapters)
    : context_(context),
      adapters_(std::move(adapters)),
      model_(std::move(model)),
      loads_(std::move(loads)),
      next_seed_(seed) {
  replicas_.reserve(replicas.size());
  for (const ReplicaEntry& replica : replicas) {
    replicas_.push_back({replica.scheduler.sender(context.id()), replica.ending});
  }
}

void PreprocessActor::on(PrepareMsg&& message) {
  const ActiveRequest& request = *message.ticket;
  if (request.end_cause() != EndCause::kNone && request.end_cause() != EndCause::kStop) {
    const Error why = request_ending(request.end_cause());
    std::move(message.ticket).fail(why);
    return;
  }
  if (!has_adapter(message)) return;
  auto group =
      prepare_request(message.ticket, *model_, wall_clock(), next_seed_++, message.adapter);
  if (!group) {
    std::move(message.ticket).fail(group.error());
    return;
  }
  EnqueueMsg enqueue{std::move(*group)};
  enqueue.group->share = loads_->choose(enqueue.group->spec);
  Replica& replica = replicas_[enqueue.group->share.replica()];
  enqueue.group->ticket->set_ending(replica.ending);
  const PushResult result = replica.scheduler.try_send(std::move(enqueue));
  if (!taken(result)) {
    std::move(enqueue.group->ticket).fail(refusal_of(result, context_.system_ready()));
  }
}

bool PreprocessActor::has_adapter(PrepareMsg& message) {
  const std::string& name = message.ticket->request().adapter;
  if (name.empty() || message.adapter) return true;
  // The scheduler ends it before it begins.
  if (message.ticket->end_cause() == EndCause::kStop) return true;
  auto found = find_adapter(*model_, name);
  if (!found) {
    std::move(message.ticket).fail(found.error());
    return false;
  }
  message.adapter = *std::move(found);
  if (message.adapter) return true;
  const PushResult result = adapters_->try_send(std::move(message), context_.id());
  if (!taken(result)) {
    std::move(message.ticket).fail(refusal_of(result, context_.system_ready()));
  }
  return false;
}

void PreprocessActor::undelivered(PrepareMsg&& message, const Error& why) {
  std::move(message.ticket).fail(why);
}

}  // namespace weft
