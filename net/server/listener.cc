#include "weft/net/server/listener.h"

#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <utility>

#include "weft/net/defaults.h"
#include "weft/net/net_error.h"
#include "weft/net/server/http_connection.h"
#include "weft/net/service/local_caller.h"

namespace weft {

namespace asio = boost::asio;

namespace {

using UserTimeout = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>;
using KeepAliveIdle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
using KeepAliveInterval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
using UnsentBytes = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;

bool is_tcp(const NetStream::Socket::endpoint_type& endpoint) {
  const int family = endpoint.protocol().family();
  return family == AF_INET || family == AF_INET6;
}

/// Sends small answers at once. Finds peers that vanished without a word: unacknowledged bytes show
/// it, or probes when nothing is sent. It takes a little longer than `write_timeout`, so that a
/// peer which is there and does not read is ended by write_timeout first.
void tune(NetStream::Socket& socket, std::chrono::microseconds write_timeout) {
  using std::chrono::duration_cast;
  const auto lost =
      duration_cast<std::chrono::milliseconds>(write_timeout + 4 * net_defaults::kSweep);
  const auto idle =
      std::max(duration_cast<std::chrono::seconds>(write_timeout / 2), std::chrono::seconds(1));
  const auto again = std::max(idle / 4, std::chrono::seconds(1));
  boost::system::error_code ignored;
  const auto set = [&](const auto& option) { ignored = socket.set_option(option, ignored); };
  set(asio::ip::tcp::no_delay(true));
  set(asio::socket_base::keep_alive(true));
  set(KeepAliveIdle(static_cast<int>(idle.count())));
  set(KeepAliveInterval(static_cast<int>(again.count())));
  set(UserTimeout(static_cast<int>(lost.count())));
  set(UnsentBytes(net_defaults::kUnsentBytes));
}

/// Returns nothing for a Unix socket.
std::optional<asio::ip::tcp::endpoint> tcp_of(const NetStream::Socket::endpoint_type& endpoint) {
  asio::ip::tcp::endpoint tcp;
  if (!is_tcp(endpoint) || endpoint.size() > tcp.capacity()) return std::nullopt;
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  return tcp;
}

std::string name_of(const std::optional<asio::ip::tcp::endpoint>& peer) {
  if (!peer) return std::string(kUnixClient);
  return peer->address().to_string() + ":" + std::to_string(peer->port());
}

void start_connection(IoThread& thread, Service& service, asio::ssl::context* tls,
                      NetStream::Socket socket, ConnectionCount::Place place) noexcept {
  try {
    boost::system::error_code gone;
    const auto peer = tcp_of(socket.remote_endpoint(gone));
    if (gone) return;
    AddressLimits& limits = service.address_limits();
    std::shared_ptr<AddressPlace> address;
    if (peer && limits.any()) {
      address = limits.enter(peer->address(), std::chrono::steady_clock::now());
      if (address == nullptr)
        return;  // closed without an answer, because an answer would require
                 // reading a request
    }
    if (peer) tune(socket, service.config().write_timeout);
    NetStream stream =
        tls != nullptr ? NetStream(std::move(socket), *tls) : NetStream(std::move(socket));
    std::make_shared<HttpConnection>(thread, service, std::move(stream), name_of(peer),
                                     std::move(place), std::move(address))
        ->start();
  } catch (const std::exception& failure) {
    service.log().failure("a connection could not be served", failure);
  }
}

/// Whether a socket file is left over from a killed server, so that no process listens at it.
bool is_abandoned(asio::io_context& context, const Listener::Endpoint& endpoint,
                  const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  boost::system::error_code error;
  asio::generic::stream_protocol::socket probe(context);
  return probe.connect(endpoint, error) == asio::error::connection_refused;
}

}  // namespace

Listener::Listener(Threads& threads, ConnectionCount& connections, Service& service,
                   asio::ssl::context* tls)
    : threads_(threads),
      connections_(connections),
      service_(service),
      tls_(tls),
      acceptor_(threads.front()->context().get_executor()),
      again_(threads.front()->context()) {}

Result<void> Listener::open(const Endpoint& endpoint, const std::string& name) {
  const bool tcp = is_tcp(endpoint);
  if (!tcp && is_abandoned(threads_.front()->context(), endpoint, name)) unlink(name.c_str());
  boost::system::error_code error;
  error = acceptor_.open(endpoint.protocol(), error);
  if (!error && tcp) error = acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) error = acceptor_.bind(endpoint, error);
  if (!error && !tcp) unix_path_ = name;
  if (!error) error = acceptor_.listen(net_defaults::kBacklog, error);
  if (error) return Error{NetErrc::kCannotListen, name + ": " + error.message()};
  if (tcp) {
    const auto local = acceptor_.local_endpoint(error);
    asio::ip::tcp::endpoint bound;
    std::memcpy(bound.data(), local.data(), std::min(local.size(), bound.capacity()));
    port_ = bound.port();
  }
  return {};
}

void Listener::start() {
  asio::post(acceptor_.get_executor(), [self = shared_from_this()] { self->accept(); });
}

void Listener::accept() {
  if (stopped_) return;
  if (std::cmp_greater_equal(connections_.now(), service_.config().max_connections)) return pause();
  IoThread& thread = *threads_[next_++ % threads_.size()];
  acceptor_.async_accept(thread.context(),
                         [self = shared_from_this(), &thread](boost::system::error_code error,
                                                              NetStream::Socket socket) {
                           self->on_accept(error, std::move(socket), thread);
                         });
}

void Listener::on_accept(boost::system::error_code error, NetStream::Socket socket,
                         IoThread& thread) {
  if (!error) serve(std::move(socket), thread);
  if (stopped_) return;
  if (error) {
    // Descriptors and memory may be free again in a moment. Asio itself skips a connection that
    // ended before it was accepted.
    service_.log().warning("cannot accept a connection: " + error.message());
    return pause();
  }
  accept();
}

void Listener::serve(NetStream::Socket socket, IoThread& thread) {
  // The connection is created on its own thread. The work holds no reference to this object,
  // because that thread may destroy dropped work when the acceptor's thread is gone.
  asio::post(thread.context(),
             [&thread, &service = service_, tls = tls_,
              place = ConnectionCount::Place(connections_), socket = std::move(socket)]() mutable {
               start_connection(thread, service, tls, std::move(socket), std::move(place));
             });
}

/// Accepts all waiting connections. Otherwise closing the acceptor would reset connections that the
/// system has made already, with their requests.
void Listener::accept_waiting() {
  boost::system::error_code error;
  error = acceptor_.non_blocking(true, error);
  for (int i = 0; i < net_defaults::kBacklog && !error; ++i) {
    IoThread& thread = *threads_[next_++ % threads_.size()];
    NetStream::Socket socket(thread.context());
    error = acceptor_.accept(socket, error);
    if (!error) serve(std::move(socket), thread);
  }
}

void Listener::pause() {
  again_.expires_after(net_defaults::kAcceptPause);
  again_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (!error) self->accept();
  });
}

void Listener::stop() {
  std::promise<void> stopped;
  asio::post(acceptor_.get_executor(), [this, &stopped] {
    stopped_ = true;
    accept_waiting();
    boost::system::error_code ignored;
    ignored = acceptor_.close(ignored);
    again_.cancel();
    if (!unix_path_.empty()) unlink(unix_path_.c_str());
    stopped.set_value();
  });
  stopped.get_future().wait();
}

}  // namespace weft
