#pragma once

#include <boost/asio/ssl/stream.hpp>

#include "weft/net/http/net_stream.h"

namespace weft {

/// The TLS layer of a NetStream, for settings that only OpenSSL's own handle takes. It has a header
/// of its own because few files need OpenSSL's declarations.
struct TlsStream : boost::asio::ssl::stream<NetStream::Socket> {
  using boost::asio::ssl::stream<NetStream::Socket>::stream;
};

}  // namespace weft
