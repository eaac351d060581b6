#include "weft/cli/local_batch.h"

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

#include "weft/net/answer.h"

namespace weft::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

using Done = std::function<void(HttpAnswer)>;

HttpAnswer answer_of(HttpReply reply, std::chrono::milliseconds retry_after = {}) {
  return {.status = reply.status, .body = std::move(reply.body), .retry_after = retry_after};
}

/// One request under way; keeps itself until its answer is whole. On the service's thread.
class LocalCall final : public Answer::Reader, public std::enable_shared_from_this<LocalCall> {
 public:
  explicit LocalCall(Done done) : done_(std::move(done)) {}

  void start(LocalService& local, ApiCall call) {
    answer_ = std::make_shared<Answer>(local.thread(), std::move(call));
    self_ = shared_from_this();
    answer_->start(local.engine(), *this);
  }

 private:
  void on_news(Answer& answer) override {
    answer.fetch(batch_);
    if (!answer.ended()) return;
    HttpAnswer reply{.status = 200, .request_id = answer.object_id()};
    if (const auto& error = answer.error()) {
      reply = answer_of(error_reply(*error), error->retry_after);
    } else {
      reply.body = batch_.bytes();
    }
    const auto self = std::move(self_);
    done_(std::move(reply));
  }

  const Done done_;
  std::shared_ptr<Answer> answer_;
  std::shared_ptr<LocalCall> self_;
  EventBatch batch_{Framing::kBody};
};

void ask_service(LocalService& local, const std::string& path, const std::string& body, Done done) {
  http::request_header<> header;
  header.method(http::verb::post);
  header.target(path);
  auto admission = local.service().admit(header);
  if (auto* refusal = std::get_if<HttpReply>(&admission)) {
    return done(answer_of(std::move(*refusal)));
  }
  Outcome outcome = local.service().handle(std::get<Service::Admission>(admission), header, body);
  if (auto* reply = std::get_if<HttpReply>(&outcome)) return done(answer_of(std::move(*reply)));
  if (auto* call = std::get_if<ApiCall>(&outcome)) {
    return std::make_shared<LocalCall>(std::move(done))->start(local, std::move(*call));
  }
  done({.status = 404, .body = R"({"error":{"message":"this path is for no batch"}})"});
}

}  // namespace

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
                     ask_service(*local_, path, body, std::move(done));
                   });
      },
      asio::use_awaitable);
}

}  // namespace weft::cli
