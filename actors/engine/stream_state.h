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

/// What an operation of a stream waits for.
enum class StreamWait : std::uint8_t {
  kAdmission,  ///< the request is admitted, or has ended
  kNews,       ///< something that was not read yet, or the end
  kEnd,        ///< the end
};

/// Connects the actors that produce for a request with the one who reads: the sink of async_open
/// and async_generate, and what a TokenStream points to. Neither side waits for the other: text and
/// tokens are append-only, and one atomic word says whether an operation waits and who may complete
/// it.
///
/// The sink's members are called as RequestSink says; cancel(), stop() and cancel_wait() are
/// thread-safe; everything else is the reader's, one thread at a time.
class StreamState final : public RequestSink, public std::enable_shared_from_this<StreamState> {
 public:
  /// Throws std::bad_alloc. `choices` and the request's max_tokens must be within
  /// stream_defaults.h.
  StreamState(const Request& request, std::int32_t choices, boost::asio::any_io_executor executor);

  /// Sets the request, which is not owned since it owns this sink. To be called before it is
  /// submitted.
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

  /// Starts an operation. `complete(Turn, Handler&&, error_code)` runs on the handler's executor:
  /// without an error what was waited for is there, and the Turn has to be ended before the handler
  /// is called. Errors: kReadOutstanding, with an empty Turn; operation_aborted, when the handler's
  /// cancellation slot or cancel() took the operation back.
  ///
  /// The cancellation slot: a wait for news whose type includes total or partial is taken back at
  /// once, without an effect; where only terminal cancellation is asked for, the request is
  /// cancelled as well. For the other two waits any type cancels the request, and they complete
  /// when it has ended.
  template <class Handler, class Complete>
  void async_wait(StreamWait what, Handler handler, Complete complete) {
    const bool mine = begin_turn();
    // The Turn comes first: when something throws from here on, the stream is free for the next
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

  /// Asks the request to end; what was produced can still be read.
  void stop() noexcept { ask_to_end(EndCause::kStop); }
  /// Asks the request to end, and drops what was not read. An operation that waits for news
  /// completes with operation_aborted.
  void cancel() noexcept;

  /// What a reader gets: a delta, or none and how the request ended. To be called only when it is
  /// there. When there is no memory for a copy the error is not_enough_memory, and nothing is lost.
  struct News {
    boost::system::error_code error;
    std::optional<Delta> delta;
  };
  /// Takes what is there; outputs take turns.
  News take_news() noexcept;
  /// Returns why there is no stream, for an operation that waited for admission.
  boost::system::error_code take_admission();
  /// Copies the result of a request that has ended. Throws std::bad_alloc.
  [[nodiscard]] GenerationResult copy_result() const;
  /// Copies the result and returns how the request ended, or not_enough_memory.
  boost::system::error_code copy_result(GenerationResult& result) const noexcept;
  /// The same of a request for a vector.
  boost::system::error_code copy_result(EmbedResult& result) const noexcept;
  /// Returns how the request ended; no error for stop and length. Only when it has ended.
  [[nodiscard]] boost::system::error_code end_error() const noexcept;

  /// Returns how the request ended; null before. Thread-safe.
  [[nodiscard]] const Finish* end() const noexcept {
    return output_.finished() ? &output_.end() : nullptr;
  }
  /// Whether a reader has been told of the end.
  [[nodiscard]] bool read_to_end() const noexcept { return read_to_end_; }
  /// The request; null before set_request() and after the request has gone.
  [[nodiscard]] std::shared_ptr<ActiveRequest> request() const noexcept { return request_.lock(); }
  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

 private:
  // The parts of the word: which operation it is (a number), what it waits for, and how far it is.
  enum class Phase : std::uint8_t {
    kIdle,      // no operation is outstanding
    kHeld,      // one is outstanding, and whoever put the word here may touch completion_
    kWaiting,   // one waits
    kAborting,  // one waits for the end of the request that its slot has cancelled
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

  // What operations wait for. It is sequentially consistent, as is the word: either the producer
  // sees that one waits, or the reader sees what there is.
  RequestOutput output_;
  std::atomic<bool> dropped_{false};

  std::atomic<std::uint64_t> word_{0};
  std::optional<PendingCompletion> completion_;

  // The members below belong to the reader.
  std::size_t next_choice_ = 0;
  bool read_to_end_ = false;
};

}  // namespace weft
