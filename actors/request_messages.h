#pragma once

#include "weft/actors/preprocess/preprocess_share.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/mailbox/message.h"

namespace weft {

/// Engine, or a net session -> Receiver. The message owns the request.
struct SubmitMsg {
  RequestTicket ticket;
};

/// Receiver -> PreprocessPool, or an application's own actor before it. The message owns the
/// request.
struct PrepareMsg {
  RequestTicket ticket;
  PreprocessShare share{};  ///< counts the message in its worker's load; set by the pool
};

using ReceiverProtocol = Protocol<SubmitMsg>;
using PreprocessProtocol = Protocol<PrepareMsg>;

}  // namespace weft
