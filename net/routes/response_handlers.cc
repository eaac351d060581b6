#include "weft/net/routes/response_handlers.h"

#include <boost/json/object.hpp>
#include <string>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/responses/response_store.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

HttpReply no_such_response() {
  return error_reply({.status = 404,
                      .code = "not_found",
                      .message = "there is no response of that id, or it is no longer kept"});
}

}  // namespace

RouteResult get_response(Service& service, const HttpCall& call) {
  const auto found = service.stored_responses().find(call.id, owner_of(call.key));
  if (found == nullptr) return no_such_response();
  return HttpReply{.body = found->object};
}

RouteResult delete_response(Service& service, const HttpCall& call) {
  if (!service.stored_responses().erase(call.id, owner_of(call.key))) return no_such_response();
  return HttpReply{.body = json_text(boost::json::object{
                       {"id", call.id}, {"object", "response"}, {"deleted", true}})};
}

RouteResult cancel_response(Service& service, const HttpCall& call) {
  return LaterReply([&service, id = std::string(call.id), owner = std::string(owner_of(call.key))](
                        const std::function<void(HttpReply)>& done) {
    const auto reply = [&service, id, owner, done] {
      const auto found = service.stored_responses().find(id, owner);
      if (found != nullptr) return done({.body = found->object});
      done({.body = json_text(
                boost::json::object{{"id", id}, {"object", "response"}, {"status", "cancelled"}})});
    };
    if (service.running().cancel(id, owner, reply)) return;
    // The response may have ended a moment ago.
    if (service.stored_responses().find(id, owner) != nullptr) return reply();
    done(no_such_response());
  });
}

}  // namespace weft::handlers
