#pragma once

#include <boost/beast/http/message.hpp>
#include <string_view>

namespace weft {

/// The name for clients of the Unix socket, in the log and in HttpCall.
inline constexpr std::string_view kUnixClient = "unix";

/// Whether a request seems to come from a program on this machine. Three conditions must hold.
/// `client`, an address as in the log, is loopback, a Unix socket or empty. The request calls the
/// server by a name of this machine. Neither a browser nor a proxy passed it on. A proxy that sends
/// no header of its own and uses such a name cannot be recognised.
[[nodiscard]] bool is_local_caller(const boost::beast::http::request_header<>& header,
                                   std::string_view client);

}  // namespace weft
