#pragma once

#include "weft/actors/adapters/adapter_info.h"
#include "weft/actors/request/request_port.h"
#include "weft/actors/request_messages.h"
#include "weft/core/mailbox/message.h"

namespace weft {

/// Engine -> AdapterActor: a name gets an adapter, or loses it. The message owns the callback,
/// which is called once.
struct ChangeAdapterMsg {
  AdapterChange change;
  ModelDone done;
};

using AdapterProtocol = Protocol<PrepareMsg, ChangeAdapterMsg>;

}  // namespace weft
