#include "weft/cli/chat/greeting.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <utility>

#include "weft/cli/server_refusal.h"
#include "weft/net/client/http_client.h"

namespace weft::cli {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// A healthy server answers the first requests within this time.
constexpr std::chrono::seconds kGreetLimit{30};
/// The pause before the server is asked again whether it has loaded its model.
constexpr std::chrono::milliseconds kLoadingPause{300};

/// Returns NAME of {"data": [{"id": NAME}, ...]}; empty when `body` has another form.
std::string first_model(const std::string& body) {
  json::error_code error;
  const json::value value = json::parse(body, error);
  const json::value* id = error ? nullptr : value.find_pointer("/data/0/id", error);
  return id != nullptr && id->is_string() ? std::string(id->as_string()) : std::string();
}

}  // namespace

asio::awaitable<Result<std::string>> greet(std::shared_ptr<Connector> connector,
                                           std::function<void(const std::string& why)> on_wait) {
  HttpClient client(connector);
  const auto refused = [&connector](Error why) {
    why.detail = connector->options().url.text() + ": " + why.detail;
    return why;
  };
  for (bool told = false;;) {
    const auto health = co_await client.ask("/health", {}, kGreetLimit);
    if (!health) co_return health.error();
    // A server without this path counts as ready.
    if (health->status != 503) break;
    if (const auto why = refusal_for_good(*health)) co_return refused(*why);
    if (!std::exchange(told, true)) on_wait(words_of(*health));
    asio::steady_timer timer(connector->context(), kLoadingPause);
    co_await timer.async_wait(asio::use_awaitable);
  }
  const auto models = co_await client.ask("/v1/models", {}, kGreetLimit);
  if (!models) co_return models.error();
  if (const auto why = refusal_for_good(*models)) co_return refused(*why);
  co_return Result<std::string>(boost::system::in_place_value, first_model(models->body));
}

}  // namespace weft::cli
