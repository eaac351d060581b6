#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/active_request.h"
#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/pending_completion.h"
#include "weft/actors/request/request.h"
#include "weft/actors/request/request_output.h"
#include "weft/actors/request/vectors/embed_request.h"

namespace weft {

/// The event that an operation of a stream waits for.
enum class StreamWait : std::uint8_t {
  kAdmission,  ///< the request is admitted, or has ended
  kNews,       ///< unread output, or the request's end
  kEnd,        ///< the request's end
};

/// Connects the actors that produce a request's output with its reader. It is the sink of
/// async_open and async_generate, and a TokenStream points to it. Neither side waits for the other:
/// text and tokens are append-only, and one atomic word says whether an operation waits and which
/// side may complete it.
///
/// The actors call the members of RequestSink; cancel(), stop() and cancel_wait() are thread-safe;
/// the reader calls everything else, one thread at a time.
class StreamState final : public RequestSink, public std::enable_shared_from_this<StreamState> {
 public:
  /// Throws std::bad_alloc. `choices` and the request's max_tokens must be within
  /// stream_defaults.h.
  StreamState(const Request& request, std::int32_t choices, boost::asio::any_io_executor executor);

  /// Sets the request, before it is submitted. The stream does not own it, since the request owns
  /// this sink.
  void set_request(const std::shared_ptr<ActiveRequest>& request) noexcept { request_ = request; }

  void let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept override;
  void admit(std::int32_t prompt_tokens) noexcept override;
  void deliver(const DeltaView& delta) noexcept override;
  void finish(Finish&& finish) noexcept override;

  /// The right to be the stream's one outstanding operation, for as long as it lives.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<StreamState> stream) noexcept : stream_(std::move(stream)) {}
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn() { end(); }
    void end() noexcept {
      if (const auto stream = std::exchange(stream_, nullptr)) stream->end_turn();
    }
    [[nodiscard]] const std::shared_ptr<StreamState>& stream() const noexcept { return stream_; }

   private:
    std::shared_ptr<StreamState> stream_;
  };

  /// Starts an operation. `complete(Turn, Handler&&, error_code)` runs on the handler's executor.
  /// Without an error the awaited event has happened; the Turn must end before the handler is
  /// called. Errors: kReadOutstanding, with an empty Turn; operation_aborted if the handler's
  /// cancellation slot or cancel() ended the operation.
  ///
  /// The cancellation slot: a type that includes total or partial ends a wait for news at
  /// once, without any effect; terminal cancellation alone also cancels the request. For
  /// the other two waits any type cancels the request, and they complete when it has
  /// ended.
  template <class Handler, class Complete>
  void async_wait(StreamWait what, Handler handler, Complete complete) {
    const bool mine = begin_turn();
    // The Turn is made first: if a later statement throws, the stream is free for the next
    // operation.
    Turn turn(mine ? shared_from_this() : nullptr);
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    PendingCompletion completion(
        std::move(handler), executor_,
        [turn = std::move(turn), complete = std::move(complete)](
            Handler&& final_handler, boost::system::error_code error) mutable {
          std::move(complete)(std::move(turn), std::move(final_handler), error);
        });
    if (!mine) return std::move(completion).post(EngineErrc::kReadOutstanding);
    if (slot.is_connected()) {
      slot.assign([weak = weak_from_this(), which = place()](boost::asio::cancellation_type type) {
        if (const auto stream = weak.lock()) stream->cancel_wait(which, type);
      });
    }
    arm(what, std::move(completion));
  }

  /// Asks the request to end; its output so far can still be read.
  void stop() noexcept { ask_to_end(EndCause::kStop); }
  /// Asks the request to end, and drops unread output. An operation that waits for news completes
  /// with operation_aborted.
  void cancel() noexcept;

  /// What a reader gets: a delta, or no delta and how the request ended. Without memory for a copy
  /// the error is not_enough_memory, and the delta can be taken again.
  struct News {
    boost::system::error_code error;
    std::optional<Delta> delta;
  };
  /// Takes new output or the end, which must be there; outputs take turns.
  News take_news() noexcept;
  /// Returns the error for an operation that waited for admission.
  boost::system::error_code take_admission();
  /// Copies the result of a request that has ended. Throws std::bad_alloc.
  [[nodiscard]] GenerationResult copy_result() const;
  /// Copies the result and returns how the request ended, or not_enough_memory.
  boost::system::error_code copy_result(GenerationResult& result) const noexcept;
  /// Copies the vector of a request that asks for one, as copy_result() above.
  boost::system::error_code copy_result(EmbedResult& result) const noexcept;
  /// Returns the ended request's error; no error for stop and length.
  [[nodiscard]] boost::system::error_code end_error() const noexcept;

  /// Returns how the request ended; null before. Thread-safe.
  [[nodiscard]] const Finish* end() const noexcept {
    return output_.finished() ? &output_.end() : nullptr;
  }
  /// Whether a reader has received the end.
  [[nodiscard]] bool read_to_end() const noexcept { return read_to_end_; }
  /// The request; null before set_request() and after the request has gone.
  [[nodiscard]] std::shared_ptr<ActiveRequest> request() const noexcept { return request_.lock(); }
  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

 private:
  // The parts of the word: the operation's number, the event that it waits for, and its phase.
  enum class Phase : std::uint8_t {
    kIdle,      // no operation is outstanding
    kHeld,      // one is outstanding; only the thread that set this phase may touch completion_
    kWaiting,   // an operation waits
    kAborting,  // an operation waits for the end of the request, which its slot has cancelled
  };
  static constexpr std::uint64_t kPhaseMask = 3;
  static constexpr std::uint64_t kPlace = 16;  // bits 2 and 3 are the StreamWait
  static Phase phase_of(std::uint64_t word) noexcept {
    return static_cast<Phase>(word & kPhaseMask);
  }
  static StreamWait wait_of(std::uint64_t word) noexcept {
    return static_cast<StreamWait>(word / 4 % 4);
  }
  static std::uint64_t with_phase(std::uint64_t word, Phase phase) noexcept {
    return (word & ~kPhaseMask) | static_cast<std::uint64_t>(phase);
  }

  [[nodiscard]] bool begin_turn() noexcept;
  void end_turn() noexcept;
  /// The number of the latest operation.
  [[nodiscard]] std::uint64_t place() const noexcept { return word_.load() / kPlace; }
  void arm(StreamWait what, PendingCompletion&& completion) noexcept;
  void cancel_wait(std::uint64_t which, boost::asio::cancellation_type type) noexcept;

  [[nodiscard]] bool has_unread() const noexcept;
  News take_delta(std::size_t choice) noexcept;
  [[nodiscard]] bool is_there(std::uint64_t word) const noexcept;
  void complete_if_there() noexcept;
  void complete(boost::system::error_code error) noexcept;
  void ask_to_end(EndCause cause) noexcept;

  const boost::asio::any_io_executor executor_;
  std::weak_ptr<ActiveRequest> request_;

  // The output that operations wait for. It is sequentially consistent, like the word: either the
  // producer sees the waiting operation, or the reader sees the output.
  RequestOutput output_;
  std::atomic<bool> dropped_{false};

  std::atomic<std::uint64_t> word_{0};
  std::optional<PendingCompletion> completion_;

  // The members below belong to the reader.
  std::size_t next_choice_ = 0;
  bool read_to_end_ = false;
};

}  // namespace weft
