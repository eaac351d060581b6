#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "weft/measure/server/answer_event.h"
#include "weft/measure/server/load_client.h"
#include "weft/measure/server/server_question.h"
#include "weft/net/client/event_client.h"

namespace weft::measure {

/// Asks over HTTP, with one connection for each request under way. Free connections are reused, the
/// last one first. It must outlive the run of the connector's context.
class HttpLoadClient final : public LoadClient {
 public:
  /// `limit` is the time for a request, counted from when it is sent.
  HttpLoadClient(std::shared_ptr<Connector> connector, QuestionOptions options,
                 std::chrono::milliseconds limit);

  void ask(std::shared_ptr<AnswerMeter> meter) override;
  void stop() override;

 private:
  [[nodiscard]] boost::asio::awaitable<void> run(std::shared_ptr<AnswerMeter> meter,
                                                 std::string body);
  void on_event(std::string_view data, TimePoint at, AnswerMeter& meter, EventClient& client);
  void end(const Result<EventAnswer>& answer, AnswerMeter& meter);

  std::shared_ptr<Connector> connector_;
  QuestionWriter questions_;
  const std::chrono::milliseconds limit_;
  AnswerEventReader reader_;
  std::vector<std::unique_ptr<EventClient>> free_;  // connections without a request
  std::unordered_set<EventClient*> asking_;
};

}  // namespace weft::measure
