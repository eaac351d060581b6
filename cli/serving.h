#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <thread>

#include "weft/actors/engine.h"
#include "weft/config/config.h"
#include "weft/config/server_config.h"
#include "weft/net/server.h"

namespace weft::cli {

/// A server from its first breath to its last: it listens, loads the model while it answers 503,
/// serves, and on SIGINT or SIGTERM lets what runs come to its end. A second signal ends the
/// process at once.
class Serving {
 public:
  Serving(const Config& config, const ServerConfig& server, std::shared_ptr<RequestLog> log);
  ~Serving();

  /// Returns when all is over. Errors: of Server::create and of loading.
  Result<void> run();

 private:
  void load();
  void on_loaded(Result<std::unique_ptr<Engine>> engine, ModelCard card);
  void wait_for_signal();
  void stop();
  void on_drained();

  const Config config_;
  const ServerConfig server_config_;
  const std::shared_ptr<RequestLog> log_;
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer deadline_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Engine> engine_;
  std::thread loader_;
  std::optional<Error> failure_;
  bool stopping_ = false;
};

}  // namespace weft::cli
