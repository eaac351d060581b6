#pragma once

#include <span>
#include <string>

#include "weft/actors/request/request.h"
#include "weft/net/api/event_batch.h"
#include "weft/net/api/reply_writer.h"

namespace weft {

/// Writes a plain answer from the vectors of all parts, once they are complete. An answer that
/// failed is the error alone.
class VectorWriter : public ReplyWriter {
 public:
  void begin(EventBatch& /*out*/) final {}
  void delta(std::size_t /*part*/, const Delta& /*delta*/, EventBatch& /*out*/) final {}
  void end(std::span<const Finish> parts, EventBatch& out) final {
    out.begin();
    write(parts, out.text());
    out.end();
  }
  void fail(const ApiError& /*error*/, std::span<const Finish> /*parts*/,
            EventBatch& /*out*/) final {}

 private:
  /// Appends the body.
  virtual void write(std::span<const Finish> parts, std::string& out) = 0;
};

}  // namespace weft
