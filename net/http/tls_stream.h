#pragma once

#include <boost/asio/ssl/stream.hpp>

#include "weft/net/http/net_stream.h"

namespace weft {

/// The TLS of a NetStream, for what only OpenSSL's own handle can be told. It has a header of its
/// own because few files need what OpenSSL declares.
struct TlsStream : boost::asio::ssl::stream<NetStream::Socket> {
  using boost::asio::ssl::stream<NetStream::Socket>::stream;
};

}  // namespace weft
