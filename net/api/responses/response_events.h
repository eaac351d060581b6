#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/net/api/event_batch.h"
#include "weft/net/api/responses/response_items.h"

namespace weft {

/// Writes and numbers the events of a response, for a stream that is under way or for a stored
/// response. Owner only.
class ResponseEvents {
 public:
  /// Every event repeats `stream_id`; empty: none has one.
  explicit ResponseEvents(std::string_view stream_id = {});

  /// response.created and the like: {"type":...,"sequence_number":...,"response":OBJECT}.
  void response(std::string_view type, std::string_view object, EventBatch& out);
  /// response.output_item.added, and response.content_part.added where the item has one.
  void begin_item(const ResponseItem& begun, EventBatch& out);
  /// Appends text to an item, or arguments to a function's call; the arguments of another tool's
  /// call come at its end. `logprobs` are the logprobs of a message's tokens.
  void delta(const ResponseItem& item, std::string_view text, std::string_view logprobs,
             EventBatch& out);
  /// The whole text or the arguments, the part, and response.output_item.done.
  void end_item(const ResponseItem& ended, std::string_view status, EventBatch& out);
  /// The event of a request that never became a response.
  void error(const ApiError& error, EventBatch& out);

 private:
  std::string& begin_event(std::string_view type, EventBatch& out);
  void end_event(std::string_view name, std::string_view value, EventBatch& out);
  void append_number_field(std::string& text);
  static void append_place(const ResponseItem& item, std::string& text);
  void input(const ResponseItem& ended, EventBatch& out);
  void item(std::string_view type, const ResponseItem& item, std::string_view json,
            EventBatch& out);
  void part(std::string_view type, const ResponseItem& item, std::string_view json,
            EventBatch& out);

  std::string stream_field_;  // ,"stream_id":... or nothing
  std::int64_t sequence_ = 0;
};

}  // namespace weft
