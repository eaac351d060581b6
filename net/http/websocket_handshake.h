#pragma once

#include <boost/beast/http/message.hpp>
#include <optional>

#include "weft/net/http/http_reply.h"

namespace weft {

/// Returns the refusal of a GET that may not become a WebSocket; nothing when it may. It checks all
/// conditions of RFC 6455, section 4.2.1, for a handshake; Beast checks most of them, but not all.
/// It does not check a browser's page: is_for_foreign_page() does.
[[nodiscard]] std::optional<HttpReply> refuse_handshake(
    const boost::beast::http::request_header<>& header);

/// Changes the header so that Beast can answer it. Each list becomes one line. An offer of
/// compression with a window of 8 bits is removed, because Beast would answer it with 9.
void prepare_handshake(boost::beast::http::request_header<>& header);

}  // namespace weft
