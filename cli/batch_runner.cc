#include "weft/cli/batch_runner.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "weft/net/api/json_text.h"
#include "weft/net/net_error.h"

namespace weft::cli {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// How often in a row a server may fail or be out of reach for one request: with the pauses that is
/// a minute, in which it can be started again.
constexpr int kTries = 10;
constexpr milliseconds kLongestPause{15'000};
/// Beyond it the pause grows no further.
constexpr int kDoublings = 10;

/// Out of the context's run(): a worker that is lost would lose its request.
void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

bool refused_for_now(unsigned status) { return status == 429 || status == 503; }
bool server_failed(unsigned status) {
  return status == 408 || status == 500 || status == 502 || status == 504;
}

}  // namespace

void BatchRunner::start(std::function<void(const Tally&)> on_result) {
  on_result_ = std::move(on_result);
  const std::size_t workers = std::min(options_.concurrency, journal_.left());
  for (std::size_t i = 0; i < workers; ++i) {
    asio::co_spawn(context_, [this] { return work(); }, rethrow);
  }
}

asio::awaitable<void> BatchRunner::work() {
  while (!failure_) {
    const auto left = journal_.next();
    if (!left) co_return;
    BatchLine line = parse_batch_line(left->text);
    if (line.error) {
      line.error->message = "line " + std::to_string(left->number) + ": " + line.error->message;
      write(error_line(line.custom_id, *line.error), false);
      continue;
    }
    const std::string custom_id = line.custom_id;
    std::string path = line.path;
    const auto answer = co_await ask(std::move(path), body_of(std::move(line)));
    if (!answer) co_return;
    write(result_line(custom_id, answer->status, answer->request_id, answer->body),
          answer->status == 200);
  }
}

std::string BatchRunner::body_of(BatchLine line) const {
  if (!options_.model.empty()) line.body["model"] = options_.model;
  if (!line.body.contains("service_tier")) line.body["service_tier"] = "flex";
  return json_text(line.body);
}

asio::awaitable<std::optional<HttpAnswer>> BatchRunner::ask(std::string path, std::string body) {
  int failures = 0;
  for (int tries = 0; !failure_; ++tries) {
    auto answer = co_await backend_.ask(path, body);
    if (failure_) break;
    if (!answer) {
      if (++failures == kTries) {
        fail(answer.error());
        break;
      }
      co_await pause(tries, {});
    } else if (answer->status == 401 || answer->status == 403) {
      fail({NetErrc::kRefused, "it wants another key (--api-key, WEFT_API_KEY)"});
    } else if (refused_for_now(answer->status) ||
               (server_failed(answer->status) && ++failures < kTries)) {
      co_await pause(tries, answer->retry_after);
    } else {
      co_return *std::move(answer);
    }
  }
  co_return std::nullopt;
}

asio::awaitable<void> BatchRunner::pause(int tries, milliseconds at_least) {
  const auto doubled = options_.first_pause * (1 << std::min(tries, kDoublings));
  const milliseconds most = std::max(std::min<milliseconds>(doubled, kLongestPause), at_least);
  // Up to a half longer, so that those who were refused together do not come back together.
  std::uniform_int_distribution<milliseconds::rep> longer(0, most.count() / 2);
  asio::steady_timer timer(context_, most + milliseconds(longer(random_)));
  co_await timer.async_wait(asio::use_awaitable);
}

void BatchRunner::write(const std::string& line, bool answered) {
  if (failure_) return;
  auto written = output_.append(line);
  if (written) written = output_.sync_sometimes(steady_clock::now());
  if (!written) return fail(written.error());
  ++(answered ? tally_.answered : tally_.failed);
  on_result_(tally_);
}

void BatchRunner::fail(const Error& error) {
  if (!failure_) failure_ = error;
  context_.stop();
}

}  // namespace weft::cli
