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

/// What a request produces, as it is produced; made by Engine::async_open. Move-only; destroying it
/// cancels the request. It may outlive its engine, whose end then ends the request.
///
/// What was produced and not read is kept, and comes as one delta for each output, however slow the
/// reader: at most what max_tokens allows, in memory that is taken at the start and grows by
/// doubling.
///
/// Distinct objects are independent. Of one object, cancel() and stop() are thread-safe; the rest
/// is for one thread at a time.
class TokenStream {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// Makes a stream that belongs to no request, like one that was moved from: only assignment,
  /// destruction and operator bool are of use; the others throw boost::system::system_error with
  /// kNoStream.
  TokenStream() noexcept = default;
  TokenStream(TokenStream&&) noexcept = default;
  TokenStream& operator=(TokenStream&& other) noexcept;
  ~TokenStream();

  /// Whether it belongs to a request.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// The engine's executor, where handlers run that have none of their own.
  [[nodiscard]] executor_type get_executor() const { return state().executor(); }

  /// Reads what has come since the last time, of one output; outputs take turns. Signature
  /// void(error_code, std::optional<Delta>). nullopt without an error is the end, and result() is
  /// there. Never completes within the call. One at a time.
  ///
  /// Errors, all with nullopt:
  /// - how the request failed (EngineErrc, SamplingErrc, TextErrc, ...; error_detail() says more),
  ///   after all that was produced before it has been read; result() has that;
  /// - kCancelled, after cancel(), once the request has ended;
  /// - kReadOutstanding: another async_next is under way, and goes on;
  /// - operation_aborted: cancel() or the destructor came while it waited, or the cancellation
  /// slot;
  /// - not_enough_memory, for the delta; it can be read again.
  ///
  /// Cancellation slot: where the type includes total or partial, the wait is taken back, nothing
  /// is lost, and the next async_next goes on. Where it is terminal alone, the stream is cancelled
  /// too, as by cancel().
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::optional<Delta>)>
                Token>
  auto async_next(Token&& token) {
    return boost::asio::async_initiate<Token,
                                       void(boost::system::error_code, std::optional<Delta>)>(
        InitiateNext{shared_state()}, token);
  }

  /// Drops the request and what was not read. A waiting async_next completes with
  /// operation_aborted.
  void cancel() { state().cancel(); }
  /// Ends the request and keeps what was produced: read the stream to its end, which is
  /// FinishReason::kStop.
  void stop() { state().stop(); }

  /// Returns all that was produced; valid as long as the stream. Throws boost::system::system_error
  /// with kNotFinished before async_next has reported the end.
  [[nodiscard]] const GenerationResult& result();
  /// What the end's error_code cannot say: the field, the numbers. Empty before the end.
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
