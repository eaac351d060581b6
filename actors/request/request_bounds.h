#pragma once

#include <boost/json/value.hpp>
#include <cstdint>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"

namespace weft {

/// How much of a prompt a request brings, before it is tokenized.
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

/// What may be under way at most, and what one request may bring.
struct QueueBounds {
  std::int64_t requests = 0;       ///< that have not ended
  std::int64_t prompt_tokens = 0;  ///< of those
  std::int64_t prompt_bytes = 0;   ///< of one request
  std::int64_t context = 0;        ///< tokens that one request counts at most
};

/// `model` is null while it is not loaded: defaults::kUnknownContext then stands for its context.
[[nodiscard]] QueueBounds queue_bounds(const Config& config, const ServedModel* model) noexcept;

/// Returns the size as it counts while the request is under way: a prompt that is longer than the
/// context never runs, and takes no more room from others than one that fills it.
[[nodiscard]] PromptSize counted_size(const Request& request, const QueueBounds& bounds);

/// What is under way.
struct QueueUse {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
};

/// Checks whether a request of this size may come in. kBadRequest: it is too large by itself;
/// kOverloaded: there is no room beside what is under way.
[[nodiscard]] Result<void> check_room(const PromptSize& size, const QueueBounds& bounds,
                                      const QueueUse& use);

/// Checks what would make the memory for the request's outputs unbounded, or stand outside of a
/// table before anybody looks; everything else is checked by those who use it. kBadRequest.
[[nodiscard]] Result<void> check_outputs(const Request& request);

}  // namespace weft
