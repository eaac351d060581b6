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

/// A process that is a rank of another process's server, from its start to its end, as Serving is
/// of a process that serves. SIGINT and SIGTERM end it while it waits for the head or loads.
/// Launchers signal all processes at once, so it gives the head a moment to say goodbye, then
/// leaves by itself; a rank that cannot leave ends the process with 0. Once it has loaded it
/// ignores the signals: the head ends its ranks when it has served its requests.
class RankProcess {
 public:
  RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess();

  /// Calls `run` with the rank's stop, and returns its result; no error where a signal has ended
  /// it.
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
