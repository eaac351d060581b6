#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

#include "weft/net/api/api_call.h"

namespace weft {

/// The settings of a message, besides the model's output.
struct MessageOptions {
  std::string id{};  ///< whole: "msg_..."
  std::string model{};
  std::string service_tier{};   ///< "standard", "priority" or "batch"
  std::int32_t max_tokens = 0;  ///< as the request says it
  bool stream = false;
  bool show_thinking = true;  ///< thoughts are told, else they are left out
  bool tells_edits = false;   ///< the request manages the context: the answer lists applied edits
};

/// The decoded body of the Messages API, before there is a writer of its answer.
struct MessageRequest {
  std::vector<Request> parts{};  ///< one
  MessageOptions options{};
};

/// Which of the two endpoints a body is for.
enum class MessageUse : std::uint8_t {
  kAnswer,  ///< max_tokens must be there
  kCount,   ///< it need not
};

/// The part of decode_messages() that reads the body, without a writer.
[[nodiscard]] ApiResult<MessageRequest> read_messages(simdjson::dom::object body,
                                                      const ApiContext& context,
                                                      MessageUse use = MessageUse::kAnswer);

}  // namespace weft
