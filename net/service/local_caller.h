#pragma once

#include <boost/beast/http/message.hpp>
#include <string_view>

namespace weft {

/// The name of a client of the Unix socket, in the log and in HttpCall.
inline constexpr std::string_view kUnixClient = "unix";

/// Whether a request seems to come from a program on this machine: `client`, an address as the log
/// has it, is loopback, a Unix socket's or none; the server is called by a name of this machine;
/// and neither a browser nor a proxy brought the request. A proxy that sends no header of its own
/// and uses such a name cannot be told.
[[nodiscard]] bool is_local_caller(const boost::beast::http::request_header<>& header,
                                   std::string_view client);

}  // namespace weft
