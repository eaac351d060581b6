#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "weft/core/error/error.h"
#include "weft/net/client/connector.h"

namespace weft::cli {

/// Waits until a server has loaded its model, and returns the first model's name; "" when the
/// server does not say. `on_wait` is called once with the reason for waiting. kRefused when the
/// server wants another key or its engine has failed; else errors as of HttpClient::ask().
[[nodiscard]] boost::asio::awaitable<Result<std::string>> greet(
    std::shared_ptr<Connector> connector, std::function<void(const std::string& why)> on_wait);

}  // namespace weft::cli
