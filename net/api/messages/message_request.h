#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

#include "weft/net/api/api_call.h"

namespace weft {

/// The settings of a message, besides the model's output.
struct MessageOptions {
  std::string id{};  ///< the whole id: "msg_..."
  std::string model{};
  std::string service_tier{};   ///< "standard", "priority" or "batch"
  std::int32_t max_tokens = 0;  ///< the value in the request
  bool stream = false;
  bool show_thinking = true;  ///< the answer contains thoughts, else they are left out
  bool tells_edits = false;   ///< the request manages the context, so the answer lists applied
                              ///< edits
};

/// The decoded body of the Messages API, before its answer's writer is made.
struct MessageRequest {
  std::vector<Request> parts{};  ///< the one request
  MessageOptions options{};
};

/// The endpoint that a body is for.
enum class MessageUse : std::uint8_t {
  kAnswer,  ///< max_tokens is required
  kCount,   ///< max_tokens is optional
};

/// Reads the body for decode_messages(), without making a writer.
[[nodiscard]] ApiResult<MessageRequest> read_messages(simdjson::dom::object body,
                                                      const ApiContext& context,
                                                      MessageUse use = MessageUse::kAnswer);

}  // namespace weft
