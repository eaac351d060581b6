#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <stop_token>
#include <thread>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_stop.h"

namespace weft::cli {

/// A process that is a rank of another's server, from its first breath to its last, as Serving is
/// of one that serves. SIGINT and SIGTERM end it while it waits for the head or loads. Launchers
/// tell all processes at once, so it gives the head a moment to say goodbye, then leaves by itself,
/// and where something keeps it, ends the process with 0. Once it has loaded they are ignored: the
/// head ends its ranks when it has served what it had.
class RankProcess {
 public:
  RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess();

  /// Calls `run` with what stops it, and returns what it returns; without an error where a signal
  /// has ended it.
  [[nodiscard]] Result<bool> run(const std::function<Result<bool>(const RankStop& stop)>& run);

 private:
  void wait_for_signal();
  void leave();

  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer deadline_;
  std::stop_source stop_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> told_{false};
  std::jthread thread_;
};

}  // namespace weft::cli
