#include "weft/measure/server/http_load_client.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <optional>
#include <utility>

#include "weft/measure/server/client_error.h"
#include "weft/net/client/deadline.h"

namespace weft::measure {

namespace asio = boost::asio;

namespace {

// The bytes that are shown of a body, which a proxy may have written: as much as a person reads.
constexpr std::size_t kShownBody = 200;
// How long a client waits for a body's end after "[DONE]". If the server takes longer, only the
// connection is lost.
constexpr std::chrono::milliseconds kRest{100};

}  // namespace

HttpLoadClient::HttpLoadClient(std::shared_ptr<Connector> connector, QuestionOptions options,
                               std::chrono::milliseconds limit)
    : connector_(std::move(connector)), questions_(std::move(options)), limit_(limit) {}

void HttpLoadClient::ask(std::shared_ptr<AnswerMeter> meter) {
  std::string body = questions_.next(meter->asked());
  asio::co_spawn(connector_->context(), run(std::move(meter), std::move(body)), asio::detached);
}

asio::awaitable<void> HttpLoadClient::run(std::shared_ptr<AnswerMeter> meter, std::string body) {
  std::unique_ptr<EventClient> client;
  if (free_.empty()) {
    client = std::make_unique<EventClient>(connector_);
  } else {
    client = std::move(free_.back());
    free_.pop_back();
  }
  asking_.insert(client.get());
  std::optional<Deadline> rest;
  const auto answer = co_await client->ask(
      std::string(path_of(questions_.options().api)), std::move(body), limit_,
      [this, &meter = *meter, &client = *client, &rest](std::string_view data, TimePoint at) {
        on_event(data, at, meter, client);
        if (data != "[DONE]") return;
        rest.emplace(connector_->context().get_executor(), kRest, [&client] { client.close(); });
      });
  const bool all_said = rest.has_value();
  rest.reset();
  asking_.erase(client.get());
  free_.push_back(std::move(client));
  if (all_said) {
    meter->end(std::chrono::steady_clock::now());
  } else {
    end(answer, *meter);
  }
}

void HttpLoadClient::on_event(std::string_view data, TimePoint at, AnswerMeter& meter,
                              EventClient& client) {
  if (const auto event = reader_.completion(data)) return meter.add(*event, at);
  meter.fail("bad answer", "an event is no JSON: " + std::string(data.substr(0, kShownBody)), at);
  client.close();
}

void HttpLoadClient::end(const Result<EventAnswer>& answer, AnswerMeter& meter) {
  const TimePoint now = std::chrono::steady_clock::now();
  if (!answer)
    return meter.fail(std::string(kind_of(answer.error())), to_string(answer.error()), now);
  if (answer->streamed) return meter.end(now);
  const std::string status = std::to_string(answer->status);
  if (answer->status == 200) {
    return meter.fail("bad answer", "it is no stream: " + answer->body.substr(0, kShownBody), now);
  }
  const AnswerEvent event = reader_.failure(answer->body);
  std::string kind = "http " + status;
  // A server without a code of its own repeats the status, which is then shown only once.
  if (!event.error.empty() && event.error != status) kind.append(" ").append(event.error);
  meter.fail(
      std::move(kind),
      event.message.empty() ? answer->body.substr(0, kShownBody) : std::string(event.message), now);
}

void HttpLoadClient::stop() {
  for (EventClient* client : asking_) client->close();
}

}  // namespace weft::measure
