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

/// Turns what an answer's engine requests (its parts) produce into the answer's bytes. Called in
/// this order: admit() for each part, begin(), delta() any number of times, then end() or fail()
/// once; fail() also without begin(), when the request never began, and ping() at any time before
/// the end. The output of a plain answer (Framing::kBody) is kept until its end; then all calls
/// come at once, begin() included, whether the answer succeeds or fails. Owner only; it does not
/// block and knows no socket.
class ReplyWriter {
 public:
  ReplyWriter() = default;
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;
  virtual ~ReplyWriter() = default;

  /// Notes how many tokens the prompt of a part has.
  virtual void admit(std::size_t /*part*/, std::int32_t /*prompt_tokens*/) {}

  /// Every part is admitted: the answer is a 200 from here on.
  virtual void begin(EventBatch& out) = 0;

  /// Called with new output of one part. Each call makes one event, however much output it holds;
  /// with Request::typed_output, one event for each of its pieces (for_each_piece()).
  virtual void delta(std::size_t part, const Delta& delta, EventBatch& out) = 0;

  /// Called when a stream over HTTP waits and has been quiet for long: appends bytes without
  /// meaning.
  virtual void ping(EventBatch& out) { out.add_comment("ping"); }

  /// Called when all parts have ended by themselves, or were stopped. `parts` has each part's
  /// Finish at its index.
  virtual void end(std::span<const Finish> parts, EventBatch& out) = 0;

  /// Called before end(): returns why the output is no valid answer; fail() is then called instead.
  [[nodiscard]] virtual std::optional<ApiError> refuse() const { return std::nullopt; }

  /// Called when a part was refused, failed or was cancelled; `parts` has how far they came
  /// (empty before begin()). A stream reports the error by an event of its protocol. A stream
  /// over HTTP that has sent nothing, not even a ping, is answered with the error's own status
  /// and body, and fail() is not called. A plain answer appends a body that is sent as a 200 in
  /// spite of the error; where it appends nothing, the client gets the error's own status and
  /// body.
  virtual void fail(const ApiError& error, std::span<const Finish> parts, EventBatch& out) = 0;
};

}  // namespace weft
