#include "weft/net/routes/response_handlers.h"

#include <boost/json/object.hpp>
#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/responses/compaction_api.h"
#include "weft/net/api/responses/kept_response.h"
#include "weft/net/http/header_values.h"
#include "weft/net/routes/api_handlers.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

HttpReply no_such_response() {
  return error_reply({.status = 404,
                      .code = "not_found",
                      .message = "there is no response of that id, or it is no longer kept"});
}

/// Returns the framing that the query asks for. Events are replayed from the beginning, so a client
/// that lost its connection cannot go on from the middle.
ApiResult<Framing> framing_of(std::string_view query) {
  const std::string stream = query_value(query, "stream");
  if (stream.empty() || stream == "false" || stream == "0") return Framing::kBody;
  if (stream != "true" && stream != "1") {
    return bad_field("stream", "must be true or false", api_code::kInvalidType);
  }
  if (!query_value(query, "starting_after").empty()) {
    return bad_field("starting_after",
                     "is not supported: a response is replayed from its beginning",
                     api_code::kUnsupported);
  }
  return Framing::kSse;
}

ApiResult<InputItemsPage> page_of(std::string_view query) {
  InputItemsPage page{.after = query_value(query, "after")};
  const std::string order = query_value(query, "order");
  if (!order.empty() && order != "asc" && order != "desc") {
    return bad_field("order", shown(order) + " is neither asc nor desc");
  }
  page.ascending = order == "asc";
  const std::string limit = query_value(query, "limit");
  if (limit.empty()) return page;
  const auto [end, failed] = std::from_chars(limit.data(), limit.data() + limit.size(), page.limit);
  if (failed != std::errc() || end != limit.data() + limit.size() || page.limit < 1 ||
      page.limit > InputItemsPage::kMostItems) {
    return bad_field(
        "limit", shown(limit) + " is not in 1 .. " + std::to_string(InputItemsPage::kMostItems));
  }
  return page;
}

}  // namespace

RouteResult get_response(Service& service, const HttpCall& call) {
  const auto framing = framing_of(call.query);
  if (!framing) return error_reply(framing.error());
  const auto found = service.stored_responses().find(call.id, owner_of(call.key));
  if (found == nullptr) return no_such_response();
  if (*framing == Framing::kBody) return HttpReply{.body = found->object};
  if (!found->whole) {
    return error_reply(bad_field("stream",
                                 "is of responses that have been completed: ask without it",
                                 api_code::kUnsupported));
  }
  return HttpReply{.content_type = std::string(kEventStreamType),
                   .body = replay_events(*found),
                   .headers = {{"Cache-Control", "no-cache"}}};
}

RouteResult list_input_items(Service& service, const HttpCall& call) {
  const auto page = page_of(call.query);
  if (!page) return error_reply(page.error());
  const auto found = service.stored_responses().find(call.id, owner_of(call.key));
  if (found == nullptr) return no_such_response();
  auto items = input_items(*found, *page);
  if (!items) return error_reply(items.error());
  return HttpReply{.body = *std::move(items)};
}

RouteResult delete_response(Service& service, const HttpCall& call) {
  const std::string id(call.id);
  const std::string owner(owner_of(call.key));
  const auto erase = [&service, id, owner] {
    if (!service.stored_responses().erase(id, owner)) return no_such_response();
    return HttpReply{.body = json_text(boost::json::object{
                         {"id", id}, {"object", "response"}, {"deleted", true}})};
  };
  const auto found = service.stored_responses().find(id, owner);
  if (found == nullptr || found->whole) return erase();
  // A background response is stored again when it ends, so it must end before it is erased.
  return LaterReply([&service, id, owner, erase](const std::function<void(HttpReply)>& done) {
    const auto reply = [erase, done] { done(erase()); };
    if (!service.running().cancel(id, owner, reply)) reply();
  });
}

RouteResult compact_response(Service& service, const HttpCall& call) {
  return generate(service, call, decode_compaction);
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
    // The response may have ended just now.
    if (service.stored_responses().find(id, owner) != nullptr) return reply();
    done(no_such_response());
  });
}

}  // namespace weft::handlers
