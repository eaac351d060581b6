#include "weft/net/service/large_body.h"

#include <exception>
#include <functional>
#include <utility>
#include <variant>

#include "weft/actors/engine_error.h"

namespace weft {
namespace {

RouteResult decoded(Service& service, LargeBody& body) {
  try {
    return service.handle(body.admission, body.request.base(), body.request.body(), body.memory,
                          body.client);
  } catch (const std::exception&) {
    return error_reply(api_error_of({EngineErrc::kInternal, {}}));
  }
}

void decode_large(Service& service, LargeBody& body, const std::function<void(LaterResult)>& done) {
  RouteResult result = decoded(service, body);
  body.request.body() = std::string();
  body.memory.clear();
  if (auto* call = std::get_if<ApiCall>(&result)) return done(std::move(*call));
  if (auto* reply = std::get_if<HttpReply>(&result)) return done(std::move(*reply));
  if (auto* later = std::get_if<LaterReply>(&result)) return (*later)(done);
  done(error_reply({.code = "bad_request", .message = "an upgrade has no body"}));
}

}  // namespace

RouteResult handle_apart(Service& service, const std::shared_ptr<LargeBody>& body) {
  return LaterReply([&service, waiting = std::weak_ptr(body)](auto done) {
    service.body_workers().post([&service, waiting, done = std::move(done)] {
      const auto mine = waiting.lock();
      if (mine == nullptr) return;
      try {
        decode_large(service, *mine, done);
      } catch (const std::exception& failure) {
        service.log().failure("a large body was left without an answer", failure);
      }
    });
  });
}

}  // namespace weft
