#pragma once

#include <boost/beast/http/message.hpp>
#include <string_view>

namespace weft {

/// Whether a browser sends this request for a page of another site, which `cors_origins` does not
/// list. A browser lets any page send requests and open WebSockets to anywhere, with a password
/// that its user once typed for the target. It only says which page it is: in Origin, and in
/// Sec-Fetch-Site, which no script can set. Programs send neither. A plain GET of another site's
/// page has no Origin and is not seen here; its page cannot read the answer.
///
/// A page is the server's own where its origin has the name and port of the Host header, or only
/// the name where a proxy has left out the port, or where the browser says so itself. "*" lists
/// every origin, but not for HTTP's basic credentials, because browsers send those by themselves.
[[nodiscard]] bool is_for_foreign_page(const boost::beast::http::request_header<>& header,
                                       std::string_view cors_origins);

}  // namespace weft
