#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "weft/net/service/body_memory.h"
#include "weft/net/service/service.h"

namespace weft {

/// A request whose body is too large to be decoded on an I/O thread (net_defaults::kInlineBody).
/// The exchange owns it. If the exchange ends before a worker takes the body, it is not decoded.
struct LargeBody {
  boost::beast::http::request<boost::beast::http::string_body> request;
  BodyMemory::Share memory;  ///< counts the body
  Service::Admission admission;
  std::string client;
};

/// Returns a later reply, for which a worker of the service calls the route's handler. The body's
/// memory is freed as soon as it is decoded.
[[nodiscard]] RouteResult handle_apart(Service& service, const std::shared_ptr<LargeBody>& body);

}  // namespace weft
