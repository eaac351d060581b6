#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/measure/server/answer_event.h"
#include "weft/measure/server/load_client.h"
#include "weft/measure/server/server_question.h"
#include "weft/net/client/connector.h"

namespace weft::measure {

/// Asks over WebSockets. Each has several requests, one in each stream, like an application with
/// parallel calls. With one stream on each connection the load is the same as over HTTP.
class WebSocketLoadClient final : public LoadClient {
 public:
  /// A connection has at most `max_streams` requests under way. `limit` is the time for a request,
  /// counted from when it is sent.
  WebSocketLoadClient(std::shared_ptr<Connector> connector, QuestionOptions options,
                      std::chrono::milliseconds limit, std::size_t max_streams);
  ~WebSocketLoadClient() override;

  void ask(std::shared_ptr<AnswerMeter> meter) override;
  void stop() override;

 private:
  class Connection;
  void forget(const Connection& connection);

  std::shared_ptr<Connector> connector_;
  QuestionWriter questions_;
  const std::chrono::milliseconds limit_;
  const std::size_t max_streams_;
  AnswerEventReader reader_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

}  // namespace weft::measure
