#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/net/api/event_batch.h"
#include "weft/net/api/responses/response_items.h"

namespace weft {

/// Writes and numbers the events of a response, for a running stream or for a stored response.
/// Owner only.
class ResponseEvents {
 public:
  /// Every event contains `stream_id`; with an empty one, none does.
  explicit ResponseEvents(std::string_view stream_id = {});

  /// Writes an event such as response.created:
  /// {"type":...,"sequence_number":...,"response":OBJECT}.
  void response(std::string_view type, std::string_view object, EventBatch& out);
  /// Writes response.output_item.added, and response.content_part.added where the item has a part.
  void begin_item(const ResponseItem& begun, EventBatch& out);
  /// Appends text to an item, or arguments to a function's call; the arguments of another tool's
  /// call come at its end. `logprobs` are the logprobs of a message's tokens.
  void delta(const ResponseItem& item, std::string_view text, std::string_view logprobs,
             EventBatch& out);
  /// Writes the events of an item's end: for the whole text or the arguments, for the part, and
  /// response.output_item.done.
  void end_item(const ResponseItem& ended, std::string_view status, EventBatch& out);
  /// Writes the event of a request that never became a response.
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

  std::string stream_field_;  // ,"stream_id":... or empty
  std::int64_t sequence_ = 0;
};

}  // namespace weft
