#include "weft/net/server/server.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <utility>

#include "weft/net/defaults.h"
#include "weft/net/http/host_names.h"
#include "weft/net/net_error.h"

namespace weft {

namespace asio = boost::asio;

Server::Server(const ServerConfig& config, ApiKeys keys, std::shared_ptr<RequestLog> log)
    : config_(config),
      service_(std::make_unique<Service>(config, std::move(keys), std::move(log), metrics_)) {
  for (std::int32_t i = 0; i < std::max(config.io_threads, 1); ++i) {
    threads_.push_back(std::make_unique<IoThread>(net_defaults::kSweep, stall_report()));
  }
}

IoStalls::Report Server::stall_report() {
  Histogram& seconds = metrics_.histogram(
      "weft_io_stall_seconds",
      "Steps of 1 ms or more of an I/O thread, during which its other connections waited",
      kLatencyBounds);
  return {.seconds = &seconds, .on_long_stall = [this](IoStalls::Seconds took) {
            const auto ms = std::chrono::round<std::chrono::milliseconds>(took).count();
            service_->log().warning("an I/O thread was held up for " + std::to_string(ms) +
                                    " ms, and its other connections with it");
          }};
}

Result<std::unique_ptr<Server>> Server::create(const ServerConfig& config,
                                               std::shared_ptr<RequestLog> log) {
  auto keys = ApiKeys::load(config.api_key, config.api_key_file);
  if (!keys) return std::move(keys).error();
  std::unique_ptr<Server> server(new Server(config, *std::move(keys), std::move(log)));
  if (auto loaded = server->load_certificate(); !loaded) return std::move(loaded).error();
  if (auto listening = server->listen(); !listening) return std::move(listening).error();
  return server;
}

Server::~Server() {
  drain();
  close(std::chrono::milliseconds(0));
}

Result<void> Server::load_certificate() {
  if (config_.tls_certificate.empty() && config_.tls_key.empty()) return {};
  tls_.emplace(asio::ssl::context::tls_server);
  boost::system::error_code error;
  error = tls_->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                                asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                                asio::ssl::context::no_tlsv1_1,
                            error);
  if (!error) {
    error = tls_->use_certificate_chain_file(config_.tls_certificate, error);
  }
  if (error) {
    return Error{NetErrc::kBadCertificate, config_.tls_certificate + ": " + error.message()};
  }
  error = tls_->use_private_key_file(config_.tls_key, asio::ssl::context::pem, error);
  if (error) return Error{NetErrc::kBadCertificate, config_.tls_key + ": " + error.message()};
  // OpenSSL accepts a certificate and a key that do not match, and then uses neither.
  if (SSL_CTX_check_private_key(tls_->native_handle()) != 1) {
    return Error{NetErrc::kBadCertificate,
                 config_.tls_key + ": is not the key of " + config_.tls_certificate};
  }
  return {};
}

Result<void> Server::listen() {
  if (!config_.host.empty()) {
    if (auto done = listen_tcp(); !done) return done;
  }
  if (!config_.unix_socket.empty()) {
    asio::local::stream_protocol::endpoint endpoint;
    try {
      endpoint.path(config_.unix_socket);
    } catch (const boost::system::system_error& failure) {
      return Error{NetErrc::kCannotListen, config_.unix_socket + ": " + failure.code().message()};
    }
    auto listener = std::make_shared<Listener>(threads_, connections_, *service_, nullptr);
    if (auto done = listener->open(endpoint, config_.unix_socket); !done) return done;
    listeners_.push_back(std::move(listener));
  }
  if (listeners_.empty()) {
    return Error{NetErrc::kCannotListen, "neither an address nor a Unix socket is given"};
  }
  for (const auto& listener : listeners_) listener->start();
  return {};
}

Result<void> Server::listen_tcp() {
  boost::system::error_code error;
  asio::ip::tcp::resolver resolver(threads_.front()->context());
  const auto found = resolver.resolve(
      config_.host, std::to_string(config_.port),
      asio::ip::resolver_base::passive | asio::ip::resolver_base::numeric_service, error);
  const std::string name = config_.host + ":" + std::to_string(config_.port);
  if (error || found.empty()) return Error{NetErrc::kCannotListen, name + ": " + error.message()};
  auto listener =
      std::make_shared<Listener>(threads_, connections_, *service_, tls_ ? &*tls_ : nullptr);
  const asio::ip::tcp::endpoint place = found.begin()->endpoint();
  if (auto done = listener->open(place, name); !done) return done;
  if (is_loopback_address(place.address().to_string())) service_->listen_on_loopback();
  listeners_.push_back(std::move(listener));
  return {};
}

void Server::open(Engine& engine, ModelCard card) { service_->open(engine, std::move(card)); }

void Server::open(Engine& engine) { service_->open(engine); }

void Server::drain() {
  service_->drain();
  for (const auto& thread : threads_) thread->drain();
}

void Server::close(std::chrono::milliseconds limit) {
  if (std::exchange(closed_, true)) return;
  for (const auto& listener : listeners_) listener->stop();
  static_cast<void>(connections_.wait_until_none(std::chrono::steady_clock::now() + limit));
  for (const auto& thread : threads_) thread->abort_all();
  connections_.wait_until_none();  // each connection removes itself from the count
  service_->stop_workers();        // before the threads stop that wait for the workers' results
  for (const auto& thread : threads_) thread->stop();
  service_->stop_background();
}

std::vector<std::string> Server::addresses() const {
  std::vector<std::string> addresses;
  for (const auto& listener : listeners_) {
    if (listener->port() == 0) {
      addresses.push_back("unix:" + config_.unix_socket);
      continue;
    }
    const bool v6 = config_.host.find(':') != std::string::npos;
    addresses.push_back(std::string(tls_ ? "https://" : "http://") +
                        (v6 ? "[" + config_.host + "]" : config_.host) + ":" +
                        std::to_string(listener->port()));
  }
  return addresses;
}

std::uint16_t Server::port() const noexcept {
  for (const auto& listener : listeners_) {
    if (listener->port() != 0) return listener->port();
  }
  return 0;
}

}  // namespace weft
