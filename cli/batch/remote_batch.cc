#include "weft/cli/batch/remote_batch.h"

#include <chrono>
#include <utility>

namespace weft::cli {
namespace {

/// A long answer on a busy server takes minutes; an answer that takes longer than this was
/// forgotten.
constexpr std::chrono::minutes kAnswerLimit{60};

}  // namespace

boost::asio::awaitable<Result<HttpAnswer>> RemoteBatch::ask(std::string path, std::string body) {
  std::unique_ptr<HttpClient> client;
  if (free_.empty()) {
    client = std::make_unique<HttpClient>(connector_);
  } else {
    client = std::move(free_.back());
    free_.pop_back();
  }
  auto answer = co_await client->ask(std::move(path), std::move(body), kAnswerLimit);
  if (answer) free_.push_back(std::move(client));
  co_return answer;
}

}  // namespace weft::cli
