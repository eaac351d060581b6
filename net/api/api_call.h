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

/// A served model, and the name that clients call it. A body is decoded only for a loaded model, so
/// `model` is not null then.
using ModelCard = ModelInfo;

/// The facts that decoding a body needs besides the body.
struct ApiContext {
  ModelCard card;            ///< the card of the model that the body names
  std::string id{};          ///< the random part of the answer's id: "chatcmpl-" + id
  std::int64_t created = 0;  ///< seconds since 1970
  std::string client{};      ///< the client's name: for fairness, and as the response's owner
  RequestClass class_ceiling = RequestClass::kChat;  ///< the most urgent class that the key may use
  std::chrono::milliseconds timeout{0};              ///< 0 = none
  bool websocket = false;                            ///< the body came as a message of a WebSocket
  std::string stream_id{};                           ///< the stream_id of the message; every event
                                                     ///< repeats it
  std::shared_ptr<ResponseStore> stored{};           ///< the server's store; null: no response is
                                                     ///< stored
  std::shared_ptr<ResponseStore> local{};            ///< the store of this WebSocket; else null
};

/// A decoded request: the engine requests to submit, and the writer of the answer.
struct ApiCall {
  std::vector<Request> parts{};  ///< requests of the engine; none: the writer gets begin() and
                                 ///< end() alone
  Framing framing = Framing::kBody;
  std::unique_ptr<ReplyWriter> writer{};
  /// Positions of the model's context. A refused request costs its key at most this many tokens.
  std::int64_t context = 0;
  std::string object_id{};  ///< the id to cancel it by, "resp_..."; /requests shows it
  /// The body that the client gets at once where the answer is made in the background: the answer
  /// is stored, and its bytes are not sent. Empty: the client waits for the answer.
  std::string reply_now{};
  /// With reply_now: the stored state of the response from its beginning until its end.
  std::shared_ptr<StoredResponse> draft{};
};

}  // namespace weft
