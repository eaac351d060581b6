#include "weft/cli/batch/batch_runner.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "weft/cli/server_refusal.h"
#include "weft/net/api/fields/json_text.h"

namespace weft::cli {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// The number of reasons that are reported. More reasons help nobody, and some contain the time of
/// day.
constexpr std::size_t kToldReasons = 16;

/// Carries a failure out of the context's run(). Otherwise a worker that fails would lose its
/// request unnoticed.
void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

/// Returns why a request is asked again; nothing when it is answered.
std::optional<Retry::Cause> cause_of(unsigned status) {
  switch (status) {
    case 429:
    case 503:
      return Retry::Cause::kRefused;
    case 408:
    case 500:
    case 502:
    case 504:
      return Retry::Cause::kFailed;
    default:
      return std::nullopt;
  }
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
  Retry retry(options_.first_pause);
  while (!failure_) {
    auto answer = co_await backend_.ask(path, body);
    if (failure_) break;
    std::optional<milliseconds> again;
    if (!answer) {
      again = retry.after(Retry::Cause::kFailed);
      if (!again) fail(answer.error());
    } else if (const auto why = refusal_for_good(*answer)) {
      fail(*why);
    } else {
      const auto cause = cause_of(answer->status);
      if (cause) again = retry.after(*cause, answer->retry_after);
      if (!again) co_return *std::move(answer);
    }
    if (!again) break;
    tell(answer ? words_of(*answer) : to_string(answer.error()));
    co_await pause(*again);
  }
  co_return std::nullopt;
}

void BatchRunner::tell(const std::string& why) {
  if (told_.size() == kToldReasons || !told_.insert(why).second) return;
  if (options_.on_wait) options_.on_wait(why);
}

asio::awaitable<void> BatchRunner::pause(milliseconds least) {
  // Waits up to a half longer, so that requests refused together do not come back together.
  std::uniform_int_distribution<milliseconds::rep> longer(0, least.count() / 2);
  asio::steady_timer timer(context_, least + milliseconds(longer(random_)));
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
