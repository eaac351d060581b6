#include "weft/cli/batch/local_batch.h"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/verb.hpp>
#include <utility>
#include <variant>

#include "weft/net/service/answer.h"

namespace weft::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

HttpAnswer answer_of(HttpReply reply, std::chrono::milliseconds retry_after = {}) {
  return {.status = reply.status, .body = std::move(reply.body), .retry_after = retry_after};
}

}  // namespace

/// One request under way.
class LocalBatch::Call final : public Answer::Reader, public std::enable_shared_from_this<Call> {
 public:
  Call(LocalBatch& batch, ApiCall call, Done done)
      : batch_(batch),
        done_(std::move(done)),
        answer_(std::make_shared<Answer>(batch.local_->thread(), std::move(call))) {}
  virtual ~Call() = default;

  void start() { answer_->start(batch_.local_->engine(), *this); }
  void abandon() { answer_->abandon(EndCause::kCancel); }

 private:
  void on_news(Answer& answer) override {
    answer.fetch(events_);
    if (!answer.ended()) return;
    HttpAnswer reply{.status = 200, .request_id = answer.object_id()};
    if (const auto& error = answer.error()) {
      reply = answer_of(error_reply(*error), error->retry_after);
    } else {
      reply.body = events_.bytes();
    }
    const auto self = shared_from_this();
    batch_.calls_.erase(self);
    done_(std::move(reply));
  }

  LocalBatch& batch_;
  const Done done_;
  const std::shared_ptr<Answer> answer_;
  EventBatch events_{Framing::kBody};
};

LocalBatch::LocalBatch(std::unique_ptr<LocalService> local) : local_(std::move(local)) {}

LocalBatch::~LocalBatch() {
  Calls left;  // freed here: they hold coroutines of this thread
  local_->run([this, &left] {
    left = std::move(calls_);
    for (const auto& call : left) call->abandon();
  });
}

void LocalBatch::start(const std::string& path, const std::string& body, Done done) {
  http::request_header<> header;
  header.method(http::verb::post);
  header.target(path);
  auto admission = local_->service().admit(header);
  if (auto* refusal = std::get_if<HttpReply>(&admission)) {
    return done(answer_of(std::move(*refusal)));
  }
  BodyMemory::Share memory(local_->service().body_memory());  // empty: the caller bounds its own
                                                              // bodies
  RouteResult result =
      local_->service().handle(std::get<Service::Admission>(admission), header, body, memory);
  if (auto* reply = std::get_if<HttpReply>(&result)) return done(answer_of(std::move(*reply)));
  if (auto* call = std::get_if<ApiCall>(&result)) {
    const auto started = std::make_shared<Call>(*this, std::move(*call), std::move(done));
    calls_.insert(started);
    return started->start();
  }
  done({.status = 404, .body = R"({"error":{"message":"this path is for no batch"}})"});
}

asio::awaitable<Result<HttpAnswer>> LocalBatch::ask(std::string path, std::string body) {
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(HttpAnswer)>(
      [this, &path, &body](auto handler) {
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        const auto executor = asio::get_associated_executor(*shared);
        Done done = [shared, executor](HttpAnswer answer) {
          asio::post(executor, [shared, answer = std::move(answer)]() mutable {
            std::move (*shared)(std::move(answer));
          });
        };
        asio::post(local_->thread().context(),
                   [this, &path, &body, done = std::move(done)]() mutable {
                     start(path, body, std::move(done));
                   });
      },
      asio::use_awaitable);
}

}  // namespace weft::cli
