#pragma once

#include <boost/beast/http/message.hpp>
#include <string_view>

namespace weft {

/// What the log and HttpCall call a client that came by the Unix socket.
inline constexpr std::string_view kUnixClient = "unix";

/// Whether a request is somebody's on this machine, as far as it shows: from `client`, an address
/// as the log has it, that is loopback, a Unix socket's or none, to a server that it calls by a
/// name of this machine, and brought neither by a browser nor by a proxy. A proxy that says nothing
/// of itself and asks by such a name cannot be told.
[[nodiscard]] bool is_local_caller(const boost::beast::http::request_header<>& header,
                                   std::string_view client);

}  // namespace weft
