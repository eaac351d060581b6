#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/event_batch.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// Writes an answer from the outputs of its engine requests (its parts). The order of calls is
/// admit() for each part, begin(), delta() any number of times, then end() or fail() once. fail()
/// may come without begin(), when the request never began; ping() may come at any time before the
/// end. The output of a plain answer (Framing::kBody) is kept until its end. Then all calls come at
/// once, begin() included, whether the answer succeeds or fails. Owner only; it does not block and
/// knows no socket.
class ReplyWriter {
 public:
  ReplyWriter() = default;
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;
  virtual ~ReplyWriter() = default;

  /// Notes how many tokens the prompt of a part has.
  virtual void admit(std::size_t /*part*/, std::int32_t /*prompt_tokens*/) {}

  /// Called when every part is admitted. From here on the answer is a 200.
  virtual void begin(EventBatch& out) = 0;

  /// Called with new output of one part. Each call makes one event, however long the output is;
  /// with Request::typed_output, it makes one event for each piece (for_each_piece()).
  virtual void delta(std::size_t part, const Delta& delta, EventBatch& out) = 0;

  /// Called when a stream over HTTP has been quiet for long: appends bytes without meaning.
  virtual void ping(EventBatch& out) { out.add_comment("ping"); }

  /// Called when all parts have ended by themselves, or were stopped. `parts` has each part's
  /// Finish at its index.
  virtual void end(std::span<const Finish> parts, EventBatch& out) = 0;

  /// Called before end(): returns why the output is no valid answer; fail() is then called instead.
  [[nodiscard]] virtual std::optional<ApiError> refuse() const { return std::nullopt; }

  /// Called when a part was refused, failed or was cancelled; `parts` says how far the parts came
  /// (empty before begin()). A stream reports the error by an event of its protocol. A stream over
  /// HTTP that has sent nothing, not even a ping, gets the error's own status and body instead, and
  /// fail() is not called. A plain answer may append a body, which is sent as a 200 in spite of the
  /// error. If it appends nothing, the client gets the error's own status and body.
  virtual void fail(const ApiError& error, std::span<const Finish> parts, EventBatch& out) = 0;
};

}  // namespace weft
