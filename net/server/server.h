#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/config/server_config.h"
#include "weft/core/error/error.h"
#include "weft/core/metrics.h"
#include "weft/net/server/listener.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/service.h"

namespace weft {

/// HTTP and WebSocket in front of an engine. It has threads of its own; its functions are for one
/// thread at a time, and block only where documented. It installs no signal handler and writes to
/// nothing but its log.
///
/// The order of calls is: create(), which answers 503 from then on, load the engine, open(); later
/// drain(), drain the engine, close(), destroy the engine, destroy the server.
class Server {
 public:
  /// Binds and listens. Errors: NetErrc; those of ApiKeys::load.
  [[nodiscard]] static Result<std::unique_ptr<Server>> create(const ServerConfig& config,
                                                              std::shared_ptr<RequestLog> log);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Serves from now on. `engine` must live until after close().
  void open(Engine& engine, ModelCard card);
  void open(Engine& engine);

  /// Begins no further request for the model. A connection ends when its running request has ended.
  /// A request that is on its way on an idle connection is refused, not ignored. New connections
  /// get the same refusals, so that a client of /health sees the reason instead of finding no
  /// server.
  void drain();
  /// Accepts no further connection and waits until the last connection has ended. After `limit` it
  /// ends those that are left.
  void close(std::chrono::milliseconds limit);

  /// Returns the addresses where the server listens, with their real ports:
  /// "http://127.0.0.1:8080", "unix:/run/weft.sock".
  [[nodiscard]] std::vector<std::string> addresses() const;
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.now(); }
  [[nodiscard]] Service& service() noexcept { return *service_; }

 private:
  Server(const ServerConfig& config, ApiKeys keys, std::shared_ptr<RequestLog> log);
  [[nodiscard]] IoStalls::Report stall_report();
  Result<void> load_certificate();
  Result<void> listen();
  Result<void> listen_tcp();

  const ServerConfig config_;
  MetricsRegistry metrics_;
  std::optional<boost::asio::ssl::context> tls_;
  std::unique_ptr<Service> service_;
  ConnectionCount connections_;
  Listener::Threads threads_;
  bool closed_ = false;
  std::vector<std::shared_ptr<Listener>> listeners_;
};

}  // namespace weft
