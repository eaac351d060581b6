#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/request.h"
#include "weft/c_api/weft_c.h"

namespace weft::c_api {

/// The events of a handle's last call, with the memory that they point to beside the deltas. Owner
/// only. When adding throws std::bad_alloc, the list must be cleared and made again.
class EventList {
 public:
  void clear() noexcept;

  /// Adds the pieces of a delta, of which the first has the tokens. The delta is borrowed until
  /// clear().
  void add(std::uint64_t request, const Delta& delta);
  /// Adds how an output ended.
  void add(std::uint64_t request, std::int32_t output, const ChoiceEnd& end);
  /// Adds the request's end; `why` is empty unless it failed or was cancelled.
  void add_end(std::uint64_t request, FinishReason reason, const Usage& usage,
               std::string_view why);

  /// Gives all events to the caller.
  void give(const weft_event** events, std::size_t* count) const noexcept {
    *events = events_.data();
    *count = events_.size();
  }

 private:
  weft_event& event(std::uint64_t request, weft_event_kind kind, std::int32_t output,
                    std::string_view text);
  void add_tokens(weft_event& event, const Delta& delta);

  // Entries of a deque stay where they are.
  std::deque<std::string> texts_;
  std::deque<std::vector<weft_logprob>> tops_;
  std::vector<weft_event> events_;
};

}  // namespace weft::c_api
