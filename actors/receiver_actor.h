#pragma once

#include <functional>
#include <memory>

#include "weft/actors/messages.h"
#include "weft/actors/pipeline_stats.h"
#include "weft/actors/request/request_bounds.h"
#include "weft/core/actor/actor.h"
#include "weft/core/mailbox/mailbox_word.h"

namespace weft {

/// Receives all requests. It refuses a request that is too large or obviously exceeds the context,
/// and every request while the limits of active requests are reached. It counts accepted requests,
/// and keeps none.
class ReceiverActor {
 public:
  using Accepts = ReceiverProtocol;
  /// Passes the message on, or leaves it unchanged: see PushResult.
  using Next = std::function<PushResult(PrepareMsg&&)>;

  ReceiverActor(ActorContext& context, const QueueBounds& bounds,
                std::shared_ptr<const ServedModel> model, std::shared_ptr<PipelineStats> stats,
                Next next);

  void on(SubmitMsg&& message);
  void undelivered(SubmitMsg&& message, const Error& why);

 private:
  [[nodiscard]] Result<void> check(const Request& request, const PromptSize& size) const;

  ActorContext& context_;
  const QueueBounds bounds_;
  const std::shared_ptr<const ServedModel> model_;
  const std::shared_ptr<PipelineStats> stats_;
  const Next next_;
};

}  // namespace weft
