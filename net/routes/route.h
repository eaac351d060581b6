#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>

#include "weft/net/api/api_call.h"
#include "weft/net/http/http_reply.h"
#include "weft/net/keys/api_keys.h"
#include "weft/net/service/body_memory.h"

namespace weft {

class Service;

/// A request as a route's handler sees it. Borrowed for the call.
struct HttpCall {
  const boost::beast::http::request_header<>& header;
  std::string_view path;   ///< the path of the target, decoded
  std::string_view id;     ///< the part of the path that stands for the route's "{id}" or "{name}"
  std::string_view query;  ///< the part of the target after "?"
  std::string_view body;
  std::string_view client;                ///< the client's address; empty: the request comes from
                                          ///< this program
  BodyMemory::Share& memory;              ///< counts the body; a handler that stores a copy takes
                                          ///< it
  const std::shared_ptr<KeyHolder>& key;  ///< null where there are no keys
};

/// A result that another thread makes: a reply, or a call to run.
using LaterResult = std::variant<HttpReply, ApiCall>;
/// Starts to make a later result. It is called once, immediately, with a function that must be
/// called once, on any thread, when the result is there.
using LaterReply = std::function<void(std::function<void(LaterResult)>)>;
/// The connection becomes a WebSocket.
struct Upgrade {};
/// The result of a handler: a reply, now or later, a call to run, or an upgrade.
using RouteResult = std::variant<HttpReply, ApiCall, LaterReply, Upgrade>;

/// The state that the server must have for a request. In any other state the request is refused
/// before its body is decoded.
enum class RouteNeed : std::uint8_t {
  kNothing,
  kModel,  ///< refused while the model loads and while the server drains
  kRoom,   ///< also refused while the engine takes no more requests
};

/// One method on one path.
struct Route {
  boost::beast::http::verb method;
  std::string_view path;  ///< "{id}" stands for any name without slashes, "{name}" for any
  bool guarded = true;    ///< requires a key, where there are keys
  RouteNeed need = RouteNeed::kNothing;
  RouteResult (*handle)(Service& service, const HttpCall& call);
};

}  // namespace weft
