#include "weft/cli/chat/remote_chat.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <utility>

#include "weft/cli/chat/greeting.h"
#include "weft/cli/chat/response_messages.h"

namespace weft::cli {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// No object here needs IoThread's sweep.
constexpr std::chrono::seconds kNoChatSweep{60};

AnswerEnd too_large() {
  return {.kind = AnswerEnd::Kind::kRefused,
          .why = "the request is larger than the server takes in one message"};
}

}  // namespace

RemoteChat::RemoteChat(std::string model, AnswerListener& listener)
    : model_(std::move(model)), router_(listener), thread_(kNoChatSweep) {}

Result<std::unique_ptr<RemoteChat>> RemoteChat::connect(const ClientOptions& options,
                                                        std::string model, AnswerListener& listener,
                                                        const OnWait& on_wait) {
  std::unique_ptr<RemoteChat> chat(new RemoteChat(std::move(model), listener));
  auto connector = Connector::create(chat->thread_.context(), options);
  if (!connector) return std::move(connector).error();
  chat->connector_ = *std::move(connector);
  std::promise<Result<std::string>> greeted;
  asio::co_spawn(chat->thread_.context(), greet(chat->connector_, on_wait),
                 [&greeted](const std::exception_ptr& failure, Result<std::string> result) {
                   if (failure) return greeted.set_exception(failure);
                   greeted.set_value(std::move(result));
                 });
  auto served = greeted.get_future().get();
  if (!served) return std::move(served).error();
  chat->served_ = chat->model_.empty() ? *std::move(served) : chat->model_;
  return chat;
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
    router_.end_largest(too_large());  // the message that was just sent
  });
}

void RemoteChat::cancel(const std::string& id) {
  asio::post(thread_.context(), [this, id] {
    if (socket_ != nullptr && router_.active(id)) socket_->send(cancel_message(id));
  });
}

void RemoteChat::on_end(const Error& error, std::uint16_t code) {
  socket_.reset();
  // The server does not say which message was too large, but the largest message certainly was.
  // Only its answer ends, so that the other answers do not fail again because of it.
  if (code == boost::beast::websocket::close_code::too_big) {
    too_large_ = std::min(too_large_, router_.end_largest(too_large()));
  }
  router_.end_all({.kind = AnswerEnd::Kind::kFailed, .why = to_string(error), .again = true});
}

}  // namespace weft::cli
