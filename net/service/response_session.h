#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/net/service/address_limits.h"
#include "weft/net/service/answer.h"
#include "weft/net/service/service.h"

namespace weft {

/// The protocol of one WebSocket: it takes Open Responses' messages and gives its events. It knows
/// no socket. Answers run in streams: answers of one `stream_id` (or of none) run one after the
/// other, answers of different streams side by side, up to a configured number of streams. A wrong
/// message is answered with an error event, and the connection goes on. On its I/O thread only.
///
/// Source: Open Responses, "WebSocket transport" (2026-04-24).
class ResponseSession final : private Answer::Reader {
 public:
  /// The client at the other end.
  struct Client {
    std::shared_ptr<KeyHolder> key{};
    std::string address{};
    std::shared_ptr<AddressPlace> place{};  ///< null where addresses are not limited
    std::chrono::milliseconds timeout{0};   ///< timeout of each response; 0 = none
  };
  /// `wake` is called when an answer has news, never from within a member.
  ResponseSession(IoThread& thread, Service& service, Client client, std::function<void()> wake);
  ~ResponseSession() { abandon(EndCause::kCancel); }

  /// Handles a client's message. Call fetch() afterwards for events that are there at once.
  void on_message(std::string_view text);
  /// Lets the service's body workers read a message (net_defaults::kInlineBody), which `memory`
  /// counts. Until the message's stream is known, is_opening() is true, and no other message may
  /// come.
  void on_large_message(std::string_view text, BodyMemory::Share memory);
  /// Whether the next message must wait. `wake` is called when it need not wait any more.
  [[nodiscard]] bool is_opening() const noexcept { return opening_ != nullptr; }

  /// Puts the next events of one stream into `out`; streams take turns. Leaves it empty when there
  /// are none.
  void fetch(EventBatch& out);
  /// Whether no response runs and no message waits.
  [[nodiscard]] bool idle() const noexcept {
    return streams_.empty() && said_.empty() && !is_opening();
  }
  /// Returns the bytes of error events that were not fetched. A client that leaves too many
  /// unfetched is not read.
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return said_.bytes().size(); }
  /// Whether a stream has more text than a client may leave unread.
  [[nodiscard]] bool too_slow() const noexcept;
  void abandon(EndCause cause) noexcept;

 private:
  struct WaitingMessage {
    std::string text;
    BodyMemory::Share memory;
    std::string previous_id{};  // the id of the response that a large message continues
  };
  /// A message that a body worker reads, and the worker's results. The worker owns it until
  /// `ready`.
  struct LargeMessage {
    WaitingMessage message;
    bool ready = false;                                 // set on this thread
    bool cancelled = false;                             // set on this thread while the worker reads
    std::optional<ApiResult<std::string>> stream_id{};  // found by the first job
    std::optional<ApiResult<ApiCall>> call{};           // found by the second job
  };
  /// The response that runs under one stream_id, and the messages that wait behind it.
  struct Stream {
    std::string stream_id{};
    std::shared_ptr<Answer> answer{};
    KeyLease lease{};
    RunningAnswers::Place place{};
    std::chrono::steady_clock::time_point began{};
    std::string logged_body{};
    std::deque<WaitingMessage> waiting{};
    std::shared_ptr<LargeMessage> decoding{};  // set before there is an answer
    bool news = false;
  };
  using Streams = std::list<Stream>;

  void on_news(Answer& answer) override;
  void create(simdjson::dom::object message, std::string_view text);
  /// Whether one more message may wait in the stream. Reports the reason before it returns false.
  [[nodiscard]] bool may_wait(const Stream& stream);
  /// Adds a stream. Reports the reason before it returns false.
  [[nodiscard]] bool open_stream(std::string_view stream_id);
  void begin(Stream& stream, simdjson::dom::object message, std::string_view text);
  void start(Stream& stream, ApiResult<ApiCall> call, std::string_view previous_id,
             std::string_view text);
  /// Returns why no response of this client can begin now.
  [[nodiscard]] std::optional<ApiError> may_not_begin();
  /// Reports the error, and forgets the response that the message would have continued, where only
  /// this session keeps that response.
  void refuse(const ApiError& error, const Stream& stream, std::string_view previous_id);

  // Large messages.
  template <class Work>
  void post(const std::shared_ptr<LargeMessage>& message, Work work);
  void begin_apart(Stream& stream, WaitingMessage message);
  void take_opened();
  void take_decoded();

  void cancel(simdjson::dom::object message);
  void finish(Streams::iterator stream);
  void go_on(Streams::iterator stream);
  /// Logs the stream's request. `left` says why its answer did not end; empty if it did.
  void settle(const Stream& stream, std::string_view left);
  void say(const ApiError& error, std::string_view stream_id);
  [[nodiscard]] Streams::iterator find(std::string_view stream_id);

  IoThread& thread_;
  Service& service_;
  const Client client_;
  const std::function<void()> wake_;
  std::shared_ptr<ResponseStore> local_;
  std::shared_ptr<LargeMessage> opening_;
  Streams streams_;
  EventBatch said_{Framing::kWebSocket};
  // Shows a worker's result, once it is back on this thread, whether the session still exists.
  const std::shared_ptr<ResponseSession*> here_ = std::make_shared<ResponseSession*>(this);
};

}  // namespace weft
