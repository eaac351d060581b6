#pragma once

#include <boost/beast/http/message.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/fields/api_error.h"

namespace weft {

/// "weft-key.KEY" among a WebSocket's protocols presents a key where headers cannot be set.
inline constexpr std::string_view kKeyProtocol = "weft-key.";

/// The header that says how long a client waits, in milliseconds.
inline constexpr std::string_view kTimeoutHeader = "X-Request-Timeout-Ms";

/// The header that names the schema places to which the answer's outputs are not held.
inline constexpr std::string_view kWarningHeader = "Weft-Warning";

/// Returns a header's value "not enforced: PLACE, PLACE"; nothing for no places. In a place,
/// commas, percent signs, quotation marks and all bytes but printable ASCII are percent-encoded.
[[nodiscard]] std::string warning_value(const std::vector<std::string>& places);

[[nodiscard]] bool istarts_with(std::string_view text, std::string_view start) noexcept;

/// Returns the items of a comma-separated list, without the space around them.
[[nodiscard]] std::vector<std::string_view> list_items(std::string_view list);

/// Splits a target into its path, percent-decoded, and its query, which follows "?". Empty segments
/// of the path are left out, because clients build such paths from a base URL: "//v1/models/" is
/// "/v1/models". Returns false when the target is neither a path nor a URL, or cannot be decoded.
[[nodiscard]] bool split_target(std::string_view target, std::string& path, std::string& query);

/// Returns the value of a name in a query, percent-decoded; of several values the first. Empty when
/// there is none, or it cannot be decoded.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view name);

/// Whether `origin` is among `origins`, a list with commas in which "*" matches any origin.
[[nodiscard]] bool is_listed_origin(std::string_view origin, std::string_view origins);

/// Whether `text` is 1 .. 128 letters, digits and ._:- characters. Others are refused, because the
/// id is written to logs and headers.
[[nodiscard]] bool is_request_id(std::string_view text) noexcept;

/// Returns the password in HTTP's basic credentials; empty when the header has none.
[[nodiscard]] std::string password_of_basic(std::string_view credentials);

/// Returns the client's timeout; 0 when there is no such header, 400 when it is no number of
/// milliseconds from 1 to a day.
[[nodiscard]] ApiResult<std::chrono::milliseconds> timeout_of(
    const boost::beast::http::request_header<>& header);

}  // namespace weft
