#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <mutex>

#include "weft/actors/engine/stream_state.h"
#include "weft/actors/request/one_time_event.h"
#include "weft/actors/request/request.h"
#include "weft/actors/request/request_port.h"
#include "weft/actors/request/requests_in_flight.h"
#include "weft/core/gate.h"

namespace weft {

/// What an Engine and the operations that it has started share. Thread-safe; after close() it is an
/// empty shell that refuses everything.
class EngineCore : public std::enable_shared_from_this<EngineCore> {
 public:
  EngineCore(boost::asio::any_io_executor executor, std::unique_ptr<RequestPort> port);
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;
  ~EngineCore() = default;

  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
  /// Until close().
  [[nodiscard]] RequestPort& port() const noexcept { return *port_; }

  /// For a request that submit() is to be given.
  [[nodiscard]] std::shared_ptr<StreamState> make_stream(const Request& request) const;
  /// Lets the request begin; a refusal is the stream's end as well.
  void submit(const std::shared_ptr<StreamState>& stream, Request&& request) noexcept;
  /// The same for a sink of the caller's own. Null when it was refused.
  std::shared_ptr<ActiveRequest> submit(const std::shared_ptr<RequestSink>& sink,
                                        Request&& request) noexcept;

  /// No request begins any more; `event` happens when none is left.
  std::shared_ptr<OneTimeEvent> drain();
  /// Those that are left are cancelled; `event` happens when the actors have exited.
  std::shared_ptr<OneTimeEvent> shut_down();

  /// Ends everything before it returns. Not while another thread uses the core.
  void close() noexcept;

 private:
  /// `begin` gets the request before it is submitted.
  template <class Begin>
  void submit(const std::shared_ptr<RequestSink>& sink, Request&& request, Begin begin) noexcept;
  void on_drained();
  void stop_port_if_due();  // under mutex_

  const boost::asio::any_io_executor executor_;
  Gate gate_;
  const std::shared_ptr<RequestsInFlight> in_flight_ = std::make_shared<RequestsInFlight>();
  const std::shared_ptr<OneTimeEvent> drained_ = std::make_shared<OneTimeEvent>();
  const std::shared_ptr<OneTimeEvent> stopped_ = std::make_shared<OneTimeEvent>();

  std::mutex mutex_;  // for what follows; requests do not take it
  bool draining_ = false;
  bool is_drained_ = false;
  bool shutting_down_ = false;
  bool stopping_ = false;
  std::function<void()> on_stopped_;   // made at the start: there may be no memory at the end
  std::unique_ptr<RequestPort> port_;  // constant until close()
};

}  // namespace weft
