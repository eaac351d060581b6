#pragma once

#include <boost/json/value.hpp>
#include <cstdint>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"

namespace weft {

/// The size of a request's prompt before it is tokenized.
struct PromptSize {
  std::int64_t bytes = 0;   ///< of text and of JSON
  std::int64_t tokens = 0;  ///< by estimate
};
[[nodiscard]] PromptSize prompt_size(const Request& request);
/// Returns about how many bytes the text of a JSON value has. It recurs: the value's depth was
/// bounded where the JSON was parsed.
[[nodiscard]] std::int64_t json_bytes(const boost::json::value& value);
/// Returns about how many tokens a text of so many bytes has.
[[nodiscard]] std::int64_t tokens_of_bytes(std::int64_t bytes) noexcept;

/// The limits of all active requests, and of one request.
struct QueueBounds {
  std::int64_t requests = 0;       ///< requests that have not ended
  std::int64_t prompt_tokens = 0;  ///< the prompt tokens of these requests
  std::int64_t prompt_bytes = 0;   ///< the prompt's bytes of one request
  std::int64_t context = 0;        ///< the most tokens that one request counts
};

/// Returns the bounds. `model` is null before it is loaded: its context is then kUnknownContext.
[[nodiscard]] QueueBounds queue_bounds(const Config& config, const ServedModel* model) noexcept;

/// Returns the size that counts while the request is active. A prompt longer than the context never
/// runs, so it counts only as much as a full context.
[[nodiscard]] PromptSize counted_size(const Request& request, const QueueBounds& bounds);

/// The numbers of active requests.
struct QueueUse {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
};

/// Checks whether a request of this size may be accepted. kBadRequest: it is too large by itself;
/// kOverloaded: the active requests leave no room.
[[nodiscard]] Result<void> check_room(const PromptSize& size, const QueueBounds& bounds,
                                      const QueueUse& use);

/// Checks values that would make the memory for outputs unbounded, or index outside a table, before
/// they are used. All other values are checked where they are used. kBadRequest.
[[nodiscard]] Result<void> check_outputs(const Request& request);

}  // namespace weft
