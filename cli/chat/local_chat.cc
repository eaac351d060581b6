#include "weft/cli/chat/local_chat.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "weft/cli/chat/response_messages.h"

namespace weft::cli {

LocalChat::LocalChat(std::unique_ptr<LocalService> local, std::string model,
                     AnswerListener& listener)
    : local_(std::move(local)), model_(std::move(model)), router_(listener) {
  local_->run([this] {
    session_.emplace(local_->thread(), local_->service(), ResponseSession::Client{},
                     [this] { pump(); });
  });
}

LocalChat::~LocalChat() {
  local_->run([this] { session_.reset(); });
}

void LocalChat::start(const std::string& id, boost::json::object request) {
  if (!model_.empty()) request["model"] = model_;
  boost::asio::post(local_->thread().context(),
                    [this, id, message = create_message(id, std::move(request))] {
                      router_.begin(id, message.size());
                      say(message);
                    });
}

void LocalChat::cancel(const std::string& id) {
  boost::asio::post(local_->thread().context(), [this, id] {
    if (router_.active(id)) say(cancel_message(id));
  });
}

void LocalChat::say(const std::string& message) {
  session_->on_message(message);
  pump();
}

void LocalChat::pump() {
  for (;;) {
    batch_.clear();
    session_->fetch(batch_);
    if (batch_.empty()) return;
    std::size_t begin = 0;
    for (const std::size_t end : batch_.message_ends()) {
      router_.on_message(batch_.bytes().substr(begin, end - begin));
      begin = end;
    }
  }
}

}  // namespace weft::cli
