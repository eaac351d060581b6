#pragma once

#include <memory>

#include "weft/actors/preprocess/preprocess_share.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/mailbox/message.h"

namespace weft {

struct PreparedAdapter;

/// Engine, or a net session -> Receiver. The message owns the request.
struct SubmitMsg {
  RequestTicket ticket;
};

/// Receiver -> PreprocessPool, or an application's own actor before it; PreprocessActor ->
/// AdapterActor -> PreprocessPool where the request's adapter has to be read first. The message
/// owns the request.
struct PrepareMsg {
  RequestTicket ticket;
  PreprocessShare share{};  ///< counts the message in its worker's load; set by the pool
  std::shared_ptr<const PreparedAdapter> adapter{};  ///< its sequences' one; null: none yet
};

using ReceiverProtocol = Protocol<SubmitMsg>;
using PreprocessProtocol = Protocol<PrepareMsg>;

}  // namespace weft
