#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "weft/net/service/answer.h"
#include "weft/net/service/service.h"

namespace weft {

/// The protocol of one WebSocket: Open Responses' messages in, its events out. It knows no socket.
/// Answers run in streams: those of one `stream_id` (or of none) one after the other, those of
/// different streams side by side, up to a configured number of streams. What a client says wrongly
/// is answered with an error event, and the connection goes on. On its I/O thread only.
///
/// Source: Open Responses, "WebSocket transport" (2026-04-24).
class ResponseSession final : private Answer::Reader {
 public:
  /// Who is at the other end.
  struct Client {
    std::shared_ptr<KeyHolder> key{};
    std::string address{};
    std::chrono::milliseconds timeout{0};  ///< of each response; 0 = none
  };
  /// `wake` is called when an answer has news, never from within a member.
  ResponseSession(IoThread& thread, Service& service, Client client, std::function<void()> wake);
  ~ResponseSession() { abandon(EndCause::kCancel); }

  /// Handles a client's message. fetch() is due after it, for what it answers at once.
  void on_message(std::string_view text);

  /// Puts the next events of one stream into `out`; streams take turns. Leaves it empty when there
  /// are none.
  void fetch(EventBatch& out);
  /// Whether nothing runs and nothing waits.
  [[nodiscard]] bool idle() const noexcept { return streams_.empty() && said_.empty(); }
  /// Bytes of error events that were not fetched. A client that causes many and reads none is not
  /// read.
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return said_.bytes().size(); }
  /// Whether a stream has more text than a client may leave unread.
  [[nodiscard]] bool too_slow() const noexcept;
  void abandon(EndCause cause) noexcept;

 private:
  struct WaitingMessage {
    std::string text;
    BodyMemory::Share memory;
  };
  /// What runs under one stream_id, and what waits behind it.
  struct Stream {
    std::string stream_id{};
    std::shared_ptr<Answer> answer{};
    KeyLease lease{};
    RunningAnswers::Place place{};
    std::chrono::steady_clock::time_point began{};
    std::string logged_body{};
    std::deque<WaitingMessage> waiting{};
    bool news = false;
  };
  using Streams = std::list<Stream>;

  void on_news(Answer& answer) override;
  void create(simdjson::dom::object message, std::string_view text);
  void begin(Stream& stream, simdjson::dom::object message, std::string_view text);
  /// Says why, and forgets the response that the message would have continued, where that is kept
  /// here alone.
  void refuse(const ApiError& error, const Stream& stream, simdjson::dom::object message);
  [[nodiscard]] ApiResult<ApiCall> decode(simdjson::dom::object message,
                                          std::string_view stream_id);
  void cancel(simdjson::dom::object message);
  void finish(Streams::iterator stream);
  /// Writes its line in the log. `left` says why it did not end, if it did not.
  void settle(const Stream& stream, std::string_view left);
  void say(const ApiError& error, std::string_view stream_id);
  [[nodiscard]] Streams::iterator find(std::string_view stream_id);

  IoThread& thread_;
  Service& service_;
  const Client client_;
  const std::function<void()> wake_;
  std::shared_ptr<ResponseStore> local_;
  Streams streams_;
  EventBatch said_{Framing::kWebSocket};
};

}  // namespace weft
