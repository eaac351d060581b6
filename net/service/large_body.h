#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "weft/net/service/body_memory.h"
#include "weft/net/service/service.h"

namespace weft {

/// A request whose body is too large to be decoded on an I/O thread (net_defaults::kInlineBody).
/// The exchange owns it. A body whose exchange ends before a worker takes it is not decoded.
struct LargeBody {
  boost::beast::http::request<boost::beast::http::string_body> request;
  BodyMemory::Share memory;  ///< counts the body
  Service::Admission admission;
  std::string client;
};

/// Returns the later reply of the route's handler, which a worker of the service calls. The body's
/// memory is free as soon as it is decoded.
[[nodiscard]] RouteResult handle_apart(Service& service, const std::shared_ptr<LargeBody>& body);

}  // namespace weft
