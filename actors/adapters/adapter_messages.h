#pragma once

#include <memory>
#include <string>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/actors/request/request_port.h"
#include "weft/actors/request_messages.h"
#include "weft/core/error/error.h"
#include "weft/core/mailbox/message.h"

namespace weft {

/// ActiveRequest::ask_to_end -> AdapterActor, on any thread: some of its requests shall end.
struct AdapterEndingMsg {};

/// AdapterActor -> AdapterReaderActor: requests wait for the adapter of this name.
struct ReadAdapterMsg {
  std::string name;
};

/// AdapterReaderActor -> AdapterActor: the answer to a ReadAdapterMsg. The message shares the
/// adapter.
struct AdapterReadMsg {
  std::string name;
  Result<std::shared_ptr<const PreparedAdapter>> adapter;
};

/// Engine -> AdapterReaderActor: a name gets an adapter, or loses it. The message owns the
/// callback, which is called once.
struct ChangeAdapterMsg {
  AdapterChange change;
  ModelDone done;
};

using AdapterProtocol = Protocol<PrepareMsg, AdapterEndingMsg, AdapterReadMsg>;
using AdapterReaderProtocol = Protocol<ReadAdapterMsg, ChangeAdapterMsg>;

}  // namespace weft
