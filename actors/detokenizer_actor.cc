#include "weft/actors/detokenizer_actor.h"

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
  make_texts(tick, context_.now());
  message.tick = nullptr;
  if (!tick.stop_hits.empty()) {
    scheduler_.try_send(TickFreeMsg{&tick});
  } else if (ticks_->give_back(tick)) {
    scheduler_.try_send(TickFreeMsg{nullptr});
  }
}

void DetokenizerActor::on(EndMsg&& message) {
  if (observer_) observer_->before_message();
  finish_request(std::move(message), context_.now());
}

void DetokenizerActor::undelivered(DeliverMsg&& message, const Error& why) {
  if (message.tick == nullptr) return;
  // The texts live until their EndMsgs, which come later. If no scheduler is left to send those,
  // the requests have failed already.
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
