#pragma once

#include <boost/asio/ssl/stream.hpp>

#include "weft/net/http/net_stream.h"

namespace weft {

/// The TLS layer of a NetStream, for settings that need OpenSSL's own handle. It has its own header
/// because few files need OpenSSL's declarations.
struct TlsStream : boost::asio::ssl::stream<NetStream::Socket> {
  using boost::asio::ssl::stream<NetStream::Socket>::stream;
};

}  // namespace weft
