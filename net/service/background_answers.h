#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"
#include "weft/net/service/answer.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/service.h"

namespace weft {

/// Answers that are made while no client waits. Their bytes are dropped, because their writers
/// store the result. The bounds of the engine and of the keys apply as to all other answers.
/// Thread-safe; each answer belongs to the I/O thread that it was begun on.
class BackgroundAnswers final : private Answer::Reader {
 public:
  /// `service` must outlive it.
  explicit BackgroundAnswers(Service& service) noexcept : service_(service) {}
  virtual ~BackgroundAnswers() { stop(); }

  /// Begins an answer for a client with the address `client`, and stores its draft. When its key
  /// may not have another answer, returns 429 and stores no draft. Called on `thread`.
  [[nodiscard]] std::optional<ApiError> start(ApiCall call, Service::Asked asked,
                                              std::string client, IoThread& thread);

  /// Cancels and forgets the running answers. To be called when the I/O threads have stopped.
  void stop() noexcept;

 private:
  struct Run {
    BegunAnswer begun{};
    std::string request_id{};
    std::string path{};
    std::string client{};
    std::string owner{};
    std::chrono::steady_clock::time_point began{};
  };

  void on_news(Answer& answer) override;
  [[nodiscard]] Run take(const Answer& answer);
  void log(const Run& run) const;

  Service& service_;
  std::mutex mutex_;
  std::unordered_map<const Answer*, Run> runs_;
};

}  // namespace weft
