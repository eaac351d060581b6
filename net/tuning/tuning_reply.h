#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "weft/jobs/fine_tuning.h"
#include "weft/net/http/http_reply.h"
#include "weft/net/routes/route.h"
#include "weft/net/service/service.h"
#include "weft/net/tuning/tuning_error.h"

namespace weft {

/// What a call about one file, job or model names.
struct OwnedName {
  explicit OwnedName(const HttpCall& call) : id(call.id), owner(owner_of(call.key)) {}
  std::string id;
  std::string owner;
};

/// Returns a later reply that `work`, a function HttpReply(FineTuning&), makes on a body worker,
/// since it may wait for the disk. A connection has one such work at a time, so the connections
/// bound them. 404 where the server has no folder.
template <class Work>
[[nodiscard]] RouteResult tuning_reply(Service& service, Work work) {
  FineTuning* const tuning = service.fine_tuning();
  if (tuning == nullptr) return error_reply(no_fine_tuning());
  auto shared = std::make_shared<Work>(std::move(work));
  return LaterReply(
      [&service, tuning, shared = std::move(shared)](std::function<void(LaterResult)> done) {
        service.body_workers().post([tuning, shared, done = std::move(done)] {
          HttpReply reply = reply_or_500([&]() -> HttpReply { return (*shared)(*tuning); });
          done(std::move(reply));
        });
      });
}

/// Returns the reply with a body, or with the error of what made it.
[[nodiscard]] inline HttpReply reply_with(ApiResult<std::string> body) {
  if (!body) return error_reply(body.error());
  return {.body = *std::move(body)};
}

}  // namespace weft
