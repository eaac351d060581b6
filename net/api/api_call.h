#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/models/model_list.h"
#include "weft/actors/request/request.h"
#include "weft/core/request_class.h"
#include "weft/net/api/event_batch.h"
#include "weft/net/api/reply_writer.h"

namespace weft {

class ResponseStore;
struct StoredResponse;

/// A model that is served, and what clients call it. Those that are decoded for are loaded: `model`
/// is not null.
using ModelCard = ModelInfo;

/// What decoding a body needs to know besides the body.
struct ApiContext {
  ModelCard card;            ///< of the model that the body names
  std::string id{};          ///< random part of the answer's id: "chatcmpl-" + id
  std::int64_t created = 0;  ///< seconds since 1970
  std::string client{};      ///< who asks: for fairness, and whose the response is
  RequestClass class_ceiling = RequestClass::kChat;  ///< the most urgent class that the key may use
  std::chrono::milliseconds timeout{0};              ///< 0 = none
  bool websocket = false;                            ///< it came as a message of a WebSocket
  std::string stream_id{};                           ///< of that message; every event repeats it
  std::shared_ptr<ResponseStore> stored{};           ///< the server's; null = nothing is kept
  std::shared_ptr<ResponseStore> local{};            ///< this WebSocket connection's; else null
};

/// A decoded request: what to ask of the engine, and who writes the answer.
struct ApiCall {
  std::vector<Request> parts{};  ///< each a request of the engine; none: begin() and end() alone
  Framing framing = Framing::kBody;
  std::unique_ptr<ReplyWriter> writer{};
  /// Positions of the model's context: what is refused costs its key no more tokens than that.
  std::int64_t context = 0;
  std::string object_id{};  ///< the id to cancel it by, "resp_..."; /requests shows it
  /// What the client gets at once, where the answer is made in the background: it is kept, and its
  /// bytes go nowhere. Empty: the client waits.
  std::string reply_now{};
  /// With reply_now: what is kept of the response from when it has begun until it has ended.
  std::shared_ptr<StoredResponse> draft{};
};

}  // namespace weft
