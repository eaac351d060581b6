#include "weft/actors/receiver_actor.h"

#include <utility>

#include "weft/actors/failure.h"

namespace weft {

ReceiverActor::ReceiverActor(ActorContext& context, const QueueBounds& bounds,
                             std::shared_ptr<PipelineStats> stats, Next next)
    : context_(context), bounds_(bounds), stats_(std::move(stats)), next_(std::move(next)) {}

void ReceiverActor::on(SubmitMsg&& message) {
  const Request& request = message.ticket->request();
  const PromptSize size = prompt_size(request);
  const auto room = check_room(size, bounds_, {stats_->requests(), stats_->prompt_tokens()});
  if (!room) return std::move(message.ticket).fail(room.error());
  message.ticket->on_finished(
      [stats = stats_, tokens = size.tokens, cls = request.request_class](const Finish& finish) {
        stats->observe(cls, finish);
        stats->finish(tokens);
      });
  stats_->begin(size.tokens);  // last, since what comes before may throw
  PrepareMsg prepare{std::move(message.ticket)};
  const PushResult result = next_(std::move(prepare));
  if (!taken(result)) {
    std::move(prepare.ticket).fail(refusal_of(result, context_.system_ready()));
  }
}

void ReceiverActor::undelivered(SubmitMsg&& message, const Error& why) {
  std::move(message.ticket).fail(why);
}

}  // namespace weft
