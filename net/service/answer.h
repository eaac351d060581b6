#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/request/request_output.h"
#include "weft/net/api/api_call.h"
#include "weft/net/keys/api_keys.h"
#include "weft/net/service/io_thread.h"

namespace weft {

/// One running call of the API: its engine requests, their output, and the writer that turns the
/// output into bytes. The engine's threads put outputs in and wake the I/O thread; everything else
/// happens on that thread. Slow clients cost no memory here: output that is not fetched stays where
/// it is, bounded by max_tokens, and is written as one event when it is fetched.
class Answer final : public Wakeable {
 public:
  /// Is notified, on the I/O thread, that fetch() may give something.
  class Reader {
   public:
    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    virtual void on_news(Answer& answer) = 0;

   protected:
    ~Reader() = default;
  };

  /// `payer` is the key whose allowance the requests use; null where there are no keys.
  Answer(IoThread& thread, ApiCall call, std::shared_ptr<KeyHolder> payer = nullptr);

  /// Submits the requests. At most kMostAtOnce run at once. Without a stream their prompts have at
  /// most kMostTokensAtOnce tokens, except for a single larger one. The others follow as these end,
  /// so a call with many parts neither fills the engine's queue nor is refused because of its own
  /// queued parts. Parts that are large together are sent as Request::bulk. The reader is notified
  /// through on_news(), never within the call.
  void start(Engine& engine, Reader& reader);
  static constexpr std::size_t kMostAtOnce = 256;
  /// Counted by prompt_size(). A quarter of the default of Config::max_queued_prompt_tokens.
  static constexpr std::int64_t kMostTokensAtOnce = std::int64_t{1} << 18;
  /// Called when the reader is gone, or does not need the rest: asks the running requests to end
  /// with `cause`.
  void abandon(EndCause cause) noexcept;
  /// Asks the requests to end with this cause; the reader is notified of the end.
  void ask_to_end(EndCause cause) noexcept;

  /// Puts new output into `out`. With Framing::kBody there is none before the end. An answer that
  /// ends with an error then has no output, or a body that is complete in itself.
  void fetch(EventBatch& out);
  /// Puts a ping of the stream into `out`, which goes to the client. From then on the answer is a
  /// 200, and an error becomes an event. Not called once the answer has ended.
  void ping(EventBatch& out);
  /// Whether the writer has begun: from then on the answer is a 200.
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  /// Whether the answer has ended, so that nothing more comes.
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Returns why the answer did not begin, or why it failed later.
  [[nodiscard]] const std::optional<ApiError>& error() const noexcept { return error_; }

  /// Returns the schema places of the call that are not enforced, as far as they are known. The
  /// list is complete once the answer has begun or ended.
  [[nodiscard]] std::vector<std::string> not_enforced() const;

  [[nodiscard]] Framing framing() const noexcept { return call_.framing; }
  /// The ids by which Engine::rows() names its requests. Thread-safe once it has started.
  [[nodiscard]] std::vector<RequestId> engine_requests() const;
  [[nodiscard]] const std::string& object_id() const noexcept { return call_.object_id; }
  /// Returns the bytes of text that were not fetched. Thread-safe.
  [[nodiscard]] std::size_t unread_bytes() const noexcept;
  /// Returns the tokens of all parts so far. Thread-safe once it has started.
  [[nodiscard]] Usage usage() const noexcept;

 private:
  /// The sink of one request. It lives as long as the answer, which the engine keeps alive until
  /// the request ends.
  class Part final : public RequestSink {
   public:
    Part(Answer& answer, const Request& request);
    void let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept override;
    void admit(std::int32_t prompt_tokens) noexcept override;
    void deliver(const DeltaView& delta) noexcept override;
    void finish(Finish&& finish) noexcept override;

    RequestOutput output;
    RequestHandle handle;  // constant once it is submitted
    std::atomic<bool> lost{false};
    const std::int64_t tokens;  // tokens of its prompt, by estimate

   private:
    /// Returns the tokens that the request costs its key.
    [[nodiscard]] std::int64_t cost(const Finish& finish) const noexcept;

    Answer& answer_;
  };

  void submit_more();
  void ask_parts(EndCause cause) noexcept;
  void on_wake() override;
  void prefetch() const noexcept override;
  [[nodiscard]] bool all(bool (RequestOutput::*is)() const noexcept) const noexcept;
  /// Returns the end of the first part that ended badly; null when there is none.
  [[nodiscard]] const Finish* failure() const noexcept;
  /// Whether the answer was asked to end and all submitted parts have ended; the others never
  /// begin.
  [[nodiscard]] bool cut_short() const noexcept;
  void fetch_deltas(EventBatch& out);
  void fetch_end(EventBatch& out);
  void fail(const Finish& finish, EventBatch& out);
  [[nodiscard]] std::vector<Finish> ends() const;

  IoThread& thread_;
  ApiCall call_;
  const std::shared_ptr<KeyHolder> payer_;
  std::deque<Part> parts_;
  Engine* engine_ = nullptr;
  std::atomic<std::size_t> submitted_{0};  // number of submitted parts; they are submitted in their
                                           // order
  std::atomic<EndCause> asked_{EndCause::kNone};
  Reader* reader_ = nullptr;
  bool begun_ = false;
  bool pinged_ = false;
  bool ended_ = false;
  std::optional<ApiError> error_;
  Delta delta_;  // a member, so that its memory is reused
};

}  // namespace weft
