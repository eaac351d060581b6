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

/// Answers that are made while no client waits. Their bytes go nowhere: their writers keep what
/// they have come to. The engine's bounds bound them, and those of the keys, as all other answers.
/// Thread-safe; each answer belongs to the I/O thread that it was begun on.
class BackgroundAnswers final : private Answer::Reader {
 public:
  /// `service` outlives it.
  explicit BackgroundAnswers(Service& service) noexcept : service_(service) {}
  virtual ~BackgroundAnswers() { stop(); }

  /// Begins an answer whose client has the address `client`; 429 when its key may not have another
  /// one, and then nothing is kept of it; its draft is once it has begun. Called on `thread`.
  [[nodiscard]] std::optional<ApiError> start(ApiCall call, Service::Asked asked,
                                              std::string client, IoThread& thread);

  /// Cancels what runs and forgets it. To be called when the I/O threads have stopped.
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
