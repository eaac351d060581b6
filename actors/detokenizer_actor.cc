#include "weft/actors/detokenizer_actor.h"

#include <span>
#include <utility>

#include "weft/actors/failure.h"
#include "weft/actors/request/request_text.h"

namespace weft {

DetokenizerActor::DetokenizerActor(ActorContext& context, std::shared_ptr<TickPool> ticks,
                                   const ActorRef<SchedulerProtocol>& scheduler,
                                   std::shared_ptr<PipelineObserver> observer)
    : context_(context),
      ticks_(std::move(ticks)),
      scheduler_(scheduler.sender(context.id())),
      observer_(std::move(observer)) {}

void DetokenizerActor::on(DeliverMsg&& message) {
  if (observer_) observer_->before_message();
  PipelineTick& tick = *message.tick;
  const TimePoint now = context_.now();
  const std::span<const TokenLogprob> tops = tick.result.top;
  for (const TokenEvent& event : tick.events) {
    const auto top = tops.subspan(static_cast<std::size_t>(event.first_top),
                                  static_cast<std::size_t>(event.top_count));
    if (!event.text->push(event, top, now)) continue;
    tick.stop_hits.push_back({event.text->request().id(), event.sequence});
  }
  message.tick = nullptr;
  if (!tick.stop_hits.empty()) {
    scheduler_.try_send(TickFreeMsg{&tick});
  } else if (ticks_->give_back(tick)) {
    scheduler_.try_send(TickFreeMsg{nullptr});
  }
}

void DetokenizerActor::on(EndMsg&& message) {
  if (observer_) observer_->before_message();
  Finish finish = message.text->finish(message, context_.now());
  std::move(message.ticket).finish(std::move(finish));
}

void DetokenizerActor::undelivered(DeliverMsg&& message, const Error& why) {
  if (message.tick == nullptr) return;
  // The texts live until their EndMsgs, which come later. When nobody is left to take those, their
  // requests have failed already.
  if (why.code != CoreErrc::kActorFailed) return message.tick->set_free();
  for (const TokenEvent& event : message.tick->events) {
    event.text->give_up();
    event.text->request().ask_to_end(EndCause::kFailure);
  }
  scheduler_.try_send(TickFreeMsg{message.tick});
}

void DetokenizerActor::undelivered(EndMsg&& message, const Error& why) {
  std::move(message.ticket).fail(request_failure(why));
}

}  // namespace weft
