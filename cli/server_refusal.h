#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/net/client/http_client.h"

namespace weft::cli {

/// The code of a server whose engine has failed permanently, so that waiting for it is useless.
inline constexpr std::string_view kEngineFailed = "not_ready";

/// Returns why the server will answer no request at all: it requires another key, or its engine has
/// failed. The error is kRefused.
[[nodiscard]] std::optional<Error> refusal_for_good(const HttpAnswer& answer);

/// Returns a message for people about an answer without a result: the server's message, or the
/// status.
[[nodiscard]] std::string words_of(const HttpAnswer& answer);

}  // namespace weft::cli
