#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/actors/engine/stream_state.h"
#include "weft/actors/request/generation_result.h"

namespace weft {

/// Streams a request's output while it is produced; made by Engine::async_open. Move-only;
/// destroying it cancels the request. It may outlive its engine, whose end ends the request.
///
/// Unread output is kept and comes as one delta for each output, however slow the reader.
/// Its size is bounded by max_tokens; its memory is allocated at the start and grows by
/// doubling.
///
/// Distinct objects are independent. cancel() and stop() are thread-safe; all other members are for
/// one thread at a time.
class TokenStream {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// Makes a stream without a request, like a moved-from stream. Only assignment,
  /// destruction and operator bool work; other members throw boost::system::system_error
  /// with kNoStream.
  TokenStream() noexcept = default;
  TokenStream(TokenStream&&) noexcept = default;
  TokenStream& operator=(TokenStream&& other) noexcept;
  ~TokenStream();

  /// Whether it belongs to a request.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// The engine's executor, which runs handlers without an associated executor.
  [[nodiscard]] executor_type get_executor() const { return state().executor(); }

  /// Reads one output's new text and tokens since its last delta; outputs take turns. Signature
  /// void(error_code, std::optional<Delta>). nullopt without an error is the end, after which
  /// result() is available. Never completes within the call. One call at a time.
  ///
  /// Errors, all with nullopt:
  /// - how the request failed (EngineErrc, SamplingErrc, TextErrc, ...; error_detail() says more),
  ///   after all earlier output has been read, which result() has as well;
  /// - kCancelled, after cancel(), once the request has ended;
  /// - kReadOutstanding: another async_next is outstanding, and continues;
  /// - operation_aborted: cancel() or the destructor came while it waited, or the cancellation
  /// slot;
  /// - not_enough_memory for the delta, which can be read again.
  ///
  /// Cancellation slot: a type that includes total or partial only ends the wait; the next
  /// async_next continues without loss. Terminal cancellation alone also cancels the stream, like
  /// cancel().
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::optional<Delta>)>
                Token>
  auto async_next(Token&& token) {
    return boost::asio::async_initiate<Token,
                                       void(boost::system::error_code, std::optional<Delta>)>(
        InitiateNext{shared_state()}, token);
  }

  /// Cancels the request and drops unread output. A waiting async_next completes with
  /// operation_aborted.
  void cancel() { state().cancel(); }
  /// Ends the request and keeps its output so far: read the stream to its end, which is
  /// FinishReason::kStop.
  void stop() { state().stop(); }

  /// Returns the complete output; valid as long as the stream. Throws boost::system::system_error
  /// with kNotFinished before async_next has reported the end.
  [[nodiscard]] const GenerationResult& result();
  /// Details of the end's error_code, such as the field and numbers. Empty before the end.
  [[nodiscard]] std::string_view error_detail() const;
  /// With kOverloaded: when to try again.
  [[nodiscard]] std::chrono::milliseconds retry_after() const;

 private:
  friend class Engine;

  struct InitiateNext {
    using executor_type = TokenStream::executor_type;
    std::shared_ptr<StreamState> state;

    [[nodiscard]] executor_type get_executor() const noexcept { return state->executor(); }

    template <class Handler>
    void operator()(Handler&& handler) const {
      state->async_wait(
          StreamWait::kNews, std::forward<Handler>(handler),
          [](StreamState::Turn turn, auto&& final_handler, boost::system::error_code error) {
            StreamState::News news{.error = error, .delta = std::nullopt};
            if (!error) news = turn.stream()->take_news();
            turn.end();
            std::forward<decltype(final_handler)>(final_handler)(news.error, std::move(news.delta));
          });
    }
  };

  explicit TokenStream(std::shared_ptr<StreamState> state) noexcept : state_(std::move(state)) {}
  [[nodiscard]] const std::shared_ptr<StreamState>& shared_state() const;
  [[nodiscard]] StreamState& state() const { return *shared_state(); }

  std::shared_ptr<StreamState> state_;
  std::optional<GenerationResult> result_;
};

}  // namespace weft
