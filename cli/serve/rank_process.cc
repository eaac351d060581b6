#include "weft/cli/serve/rank_process.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "weft/core/thread.h"

namespace weft::cli {
namespace {

// The time that the head has to say goodbye. The head gets the same signal as this rank, and would
// report a rank as lost that left first.
constexpr std::chrono::milliseconds kForGoodbye{500};

// The time in which loading must notice the stop. It checks before each piece of a matrix.
constexpr std::chrono::seconds kRankLoadingEnds{1};

}  // namespace

RankProcess::RankProcess() : signals_(io_, SIGINT, SIGTERM), deadline_(io_) {
  wait_for_signal();
  thread_ = std::jthread([this] {
    name_this_thread("weft-signals");
    io_.run();
  });
}

RankProcess::~RankProcess() { io_.stop(); }

void RankProcess::wait_for_signal() {
  signals_.async_wait([this](boost::system::error_code error, int /*signal*/) {
    if (error) return;
    wait_for_signal();
    if (ready_ || told_.exchange(true)) return;
    deadline_.expires_after(kForGoodbye);
    deadline_.async_wait([this](boost::system::error_code ended) {
      if (!ended) leave();
    });
  });
}

void RankProcess::leave() {
  if (ready_) return;
  stop_.request_stop();
  deadline_.expires_after(kRankLoadingEnds);
  deadline_.async_wait([](boost::system::error_code ended) {
    if (!ended) std::_Exit(EXIT_SUCCESS);
  });
}

Result<bool> RankProcess::run(const std::function<Result<bool>(const RankStop& stop)>& run) {
  Result<bool> ran = run({.stop = stop_.get_token(), .on_ready = [this] { ready_ = true; }});
  if (!ran && told_ && !ready_) return true;
  return ran;
}

}  // namespace weft::cli
