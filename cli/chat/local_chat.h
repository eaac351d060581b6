#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/cli/chat/answer_router.h"
#include "weft/cli/chat/chat_backend.h"
#include "weft/cli/local_service.h"
#include "weft/net/service/response_session.h"

namespace weft::cli {

/// A model in this process, asked in the way of a WebSocket's client.
class LocalChat final : public ChatBackend {
 public:
  /// `model` is the name that requests state, such as an adapter; empty: none.
  LocalChat(std::unique_ptr<LocalService> local, std::string model, AnswerListener& listener);
  ~LocalChat() override;

  [[nodiscard]] std::string description() const override {
    return model_.empty() ? local_->model() : model_;
  }
  void start(const std::string& id, boost::json::object request) override;
  void cancel(const std::string& id) override;

 private:
  void say(const std::string& message);
  void pump();

  std::unique_ptr<LocalService> local_;
  const std::string model_;
  AnswerRouter router_;
  std::optional<ResponseSession> session_;
  EventBatch batch_{Framing::kWebSocket};
};

}  // namespace weft::cli
