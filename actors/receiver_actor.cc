#include "weft/actors/receiver_actor.h"

#include <utility>

#include "weft/actors/failure.h"
#include "weft/actors/request/prompt/prompt.h"

namespace weft {

ReceiverActor::ReceiverActor(ActorContext& context, const QueueBounds& bounds,
                             std::shared_ptr<const ServedModel> model,
                             std::shared_ptr<PipelineStats> stats, Next next)
    : context_(context),
      bounds_(bounds),
      model_(std::move(model)),
      stats_(std::move(stats)),
      next_(std::move(next)) {}

Result<void> ReceiverActor::check(const Request& request, const PromptSize& size) const {
  if (size.bytes <= bounds_.prompt_bytes) {
    if (auto fits = check_prompt_length(request, *model_); !fits) return fits;
  }
  return check_room(size, bounds_, {stats_->requests(), stats_->prompt_tokens()});
}

void ReceiverActor::on(SubmitMsg&& message) {
  const Request& request = message.ticket->request();
  const PromptSize size = counted_size(request, bounds_);
  const auto checked = check(request, size);
  if (!checked) return std::move(message.ticket).fail(checked.error());
  message.ticket->on_finished(
      [stats = stats_, tokens = size.tokens, cls = request.request_class](const Finish& finish) {
        stats->observe(cls, finish);
        stats->finish(tokens);
      });
  stats_->begin(size.tokens);  // last, since the statements before may throw
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
