#include "weft/cli/remote_chat.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <future>
#include <utility>

#include "weft/cli/response_messages.h"
#include "weft/cli/server_refusal.h"
#include "weft/net/client/http_client.h"

namespace weft::cli {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// Nothing that is asked at the beginning takes longer on a server that is well.
constexpr std::chrono::seconds kGreetLimit{30};
/// Between two looks at whether the model has been loaded.
constexpr std::chrono::milliseconds kLoadingPause{300};
/// IoThread's sweep has nothing to look after here.
constexpr std::chrono::seconds kNoSweep{60};

AnswerEnd too_large() {
  return {.outcome = AnswerEnd::Outcome::kRefused,
          .why = "the request is larger than the server takes in one message"};
}

/// {"data": [{"id": NAME}, ...]}; empty when it is something else.
std::string first_model(const std::string& body) {
  json::error_code error;
  const json::value value = json::parse(body, error);
  const json::value* id = error ? nullptr : value.find_pointer("/data/0/id", error);
  return id != nullptr && id->is_string() ? std::string(id->as_string()) : std::string();
}

}  // namespace

RemoteChat::RemoteChat(std::string model, AnswerListener& listener)
    : model_(std::move(model)), router_(listener), thread_(kNoSweep) {}

Result<std::unique_ptr<RemoteChat>> RemoteChat::connect(const ClientOptions& options,
                                                        std::string model, AnswerListener& listener,
                                                        const OnWait& on_wait) {
  std::unique_ptr<RemoteChat> chat(new RemoteChat(std::move(model), listener));
  auto connector = Connector::create(chat->thread_.context(), options);
  if (!connector) return std::move(connector).error();
  chat->connector_ = *std::move(connector);
  std::promise<Result<void>> greeted;
  asio::co_spawn(
      chat->thread_.context(), [&chat, &on_wait] { return chat->greet(on_wait); },
      [&greeted](const std::exception_ptr& failure, Result<void> result) {
        if (failure) return greeted.set_exception(failure);
        greeted.set_value(std::move(result));
      });
  if (auto result = greeted.get_future().get(); !result) return std::move(result).error();
  return chat;
}

asio::awaitable<Result<void>> RemoteChat::greet(OnWait on_wait) {
  HttpClient client(connector_);
  const auto refused = [this](Error why) {
    why.detail = connector_->options().url.text() + ": " + why.detail;
    return why;
  };
  for (bool told = false;;) {
    const auto health = co_await client.ask("/health", {}, kGreetLimit);
    if (!health) co_return health.error();
    // Servers without such a path are taken for ready.
    if (health->status != 503) break;
    if (const auto why = refusal_for_good(*health)) co_return refused(*why);
    if (!std::exchange(told, true)) on_wait(words_of(*health));
    asio::steady_timer timer(thread_.context(), kLoadingPause);
    co_await timer.async_wait(asio::use_awaitable);
  }
  const auto models = co_await client.ask("/v1/models", {}, kGreetLimit);
  if (!models) co_return models.error();
  if (const auto why = refusal_for_good(*models)) co_return refused(*why);
  served_ = model_.empty() ? first_model(models->body) : model_;
  co_return Result<void>();
}

RemoteChat::~RemoteChat() {
  std::promise<void> closed;
  asio::post(thread_.context(), [this, &closed] {
    if (socket_) socket_->close();
    socket_.reset();
    closed.set_value();
  });
  closed.get_future().wait();
  thread_.stop();
}

std::string RemoteChat::description() const {
  const std::string where = connector_->options().url.text();
  return served_.empty() ? where : served_ + " at " + where;
}

WebSocketClient& RemoteChat::socket() {
  if (socket_ == nullptr) {
    socket_ = std::make_shared<WebSocketClient>(
        connector_, "/v1/responses",
        WebSocketClient::Events{
            .on_message = [this](std::string_view message) { router_.on_message(message); },
            .on_end = [this](const Error& error, std::uint16_t code) { on_end(error, code); }});
    socket_->start();
  }
  return *socket_;
}

void RemoteChat::start(const std::string& id, json::object request) {
  if (!model_.empty()) request["model"] = model_;
  asio::post(thread_.context(), [this, id, message = create_message(id, std::move(request))] {
    router_.begin(id, message.size());
    if (message.size() < too_large_) return socket().send(message);
    router_.end_largest(too_large());  // it is this one
  });
}

void RemoteChat::cancel(const std::string& id) {
  asio::post(thread_.context(), [this, id] {
    if (socket_ != nullptr && router_.active(id)) socket_->send(cancel_message(id));
  });
}

void RemoteChat::on_end(const Error& error, std::uint16_t code) {
  socket_.reset();
  // The server does not say which one it was; the largest was it in any case. The others are not to
  // suffer again from one like it.
  if (code == boost::beast::websocket::close_code::too_big) {
    too_large_ = std::min(too_large_, router_.end_largest(too_large()));
  }
  router_.end_all({.outcome = AnswerEnd::Outcome::kFailed, .why = to_string(error), .again = true});
}

}  // namespace weft::cli
