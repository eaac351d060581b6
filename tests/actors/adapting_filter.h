#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "weft/actors/failure.h"
#include "weft/actors/preprocess/preprocess_pool.h"
#include "weft/actors/request/request.h"
#include "weft/core/actor/actor.h"
#include "weft/gpu/device_adapter.h"

namespace weft::test {

/// An application's own actor before preprocessing, which gives requests their adapters.
class AdaptingFilter {
 public:
  using Accepts = PreprocessProtocol;
  using Choice = std::function<std::shared_ptr<const PreparedAdapter>(const Request& request)>;

  AdaptingFilter(ActorContext& context, PreprocessPool next, Choice choice)
      : context_(context), next_(std::move(next)), choice_(std::move(choice)) {}

  void on(PrepareMsg&& message) {
    message.adapter = choice_(message.ticket->request());
    const PushResult result = next_.try_send(std::move(message));
    if (!taken(result)) {
      std::move(message.ticket).fail(refusal_of(result, context_.system_ready()));
    }
  }
  void undelivered(PrepareMsg&& message, const Error& why) { std::move(message.ticket).fail(why); }

 private:
  ActorContext& context_;
  const PreprocessPool next_;
  const Choice choice_;
};

}  // namespace weft::test
