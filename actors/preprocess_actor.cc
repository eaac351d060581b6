#include "weft/actors/preprocess_actor.h"

#include <algorithm>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/prompt.h"
#include "weft/actors/request_text.h"
#include "weft/text/chat_encoder.h"

namespace weft {

PreprocessActor::PreprocessActor(ActorContext& context, std::shared_ptr<const ServedModel> model,
                                 const std::vector<ActorRef<SchedulerProtocol>>& lanes,
                                 std::uint64_t seed)
    : model_(std::move(model)), next_seed_(seed) {
  lanes_.reserve(lanes.size());
  for (const ActorRef<SchedulerProtocol>& lane : lanes) lanes_.push_back(lane.sender(context.id()));
}

void PreprocessActor::on(PrepareMsg&& message) {
  const ActiveRequest& request = *message.ticket;
  const std::size_t lane = request.lane();
  if (request.end_cause() != EndCause::kNone && request.end_cause() != EndCause::kStop) {
    const Error why = request_ending(request.end_cause());
    std::move(message.ticket).fail(why);
    return;
  }
  auto group = prepare_request(message.ticket, *model_, wall_clock(), next_seed_++);
  if (!group) {
    std::move(message.ticket).fail(group.error());
    return;
  }
  EnqueueMsg enqueue{std::move(*group)};
  if (!taken(lanes_[lane].try_send(std::move(enqueue)))) {
    std::move(enqueue.group->ticket).fail({EngineErrc::kOverloaded, {}});
  }
}

void PreprocessActor::undelivered(PrepareMsg&& message, const Error& why) {
  std::move(message.ticket).fail(request_failure(why));
}

bool PreprocessPool::try_send(PrepareMsg&& message) const noexcept {
  const auto least = std::ranges::min_element(
      workers_, {}, [](const ActorRef<PreprocessProtocol>& worker) { return worker.size(); });
  if (taken(least->try_send(std::move(message)))) return true;
  return std::ranges::any_of(workers_, [&](const ActorRef<PreprocessProtocol>& worker) {
    return taken(worker.try_send(std::move(message)));
  });
}

}  // namespace weft
