#pragma once

#include <boost/beast/http/message.hpp>
#include <optional>

#include "weft/net/http/http_reply.h"

namespace weft {

/// Returns the reply to a client whose GET may not become a WebSocket; nothing when it may. It
/// checks all that RFC 6455, section 4.2.1, asks of a handshake, of which Beast checks the greater
/// part. It does not check a browser's page: is_for_foreign_page() does.
[[nodiscard]] std::optional<HttpReply> refuse_handshake(
    const boost::beast::http::request_header<>& header);

/// Rewrites the header such that Beast can answer it: each list in one line, and no offer of
/// compression with a window of 8 bits, which it would answer with 9.
void prepare_handshake(boost::beast::http::request_header<>& header);

}  // namespace weft
