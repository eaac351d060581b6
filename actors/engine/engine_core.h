#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "weft/actors/engine/model_operation.h"
#include "weft/actors/engine/stream_state.h"
#include "weft/actors/request/one_time_event.h"
#include "weft/actors/request/request.h"
#include "weft/actors/request/request_port.h"
#include "weft/actors/request/requests_in_flight.h"
#include "weft/core/gate.h"

namespace weft {

/// The state that an Engine shares with the operations that it has started. Thread-safe; after
/// close() it refuses everything.
class EngineCore : public std::enable_shared_from_this<EngineCore> {
 public:
  /// `port` is not null.
  EngineCore(boost::asio::any_io_executor executor, std::unique_ptr<RequestPort> port);
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;
  ~EngineCore() = default;

  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
  /// The pipeline's port; valid until close().
  [[nodiscard]] RequestPort& port() const noexcept { return *port_; }

  /// Makes the stream for a request that will be passed to submit().
  [[nodiscard]] std::shared_ptr<StreamState> make_stream(const Request& request) const;
  /// Begins the request; a refusal ends the stream.
  void submit(const std::shared_ptr<StreamState>& stream, Request&& request) noexcept;
  /// Begins a request with the caller's own sink. Returns null if it was refused.
  std::shared_ptr<ActiveRequest> submit(const std::shared_ptr<RequestSink>& sink,
                                        Request&& request) noexcept;

  /// Refuses new requests; the event fires when none is left.
  std::shared_ptr<OneTimeEvent> drain();
  /// Cancels the remaining requests; the event fires when the actors have exited.
  std::shared_ptr<OneTimeEvent> shut_down();

  /// Loads or unloads a model of the port; the operation completes with the result.
  void load(const std::string& model, const std::shared_ptr<ModelOperation>& operation);
  void unload(const std::string& model, const std::shared_ptr<ModelOperation>& operation);
  /// Loads or unloads an adapter; likewise.
  void change_adapter(AdapterChange change, const std::shared_ptr<ModelOperation>& operation);

  /// Begins a training task; likewise.
  void train(const std::shared_ptr<TrainingState>& task,
             const std::shared_ptr<ModelOperation>& operation);

  /// Ends everything before it returns. It must not be called while another thread uses the core.
  void close() noexcept;

 private:
  /// Begins a request. `begin` gets it before it is submitted.
  template <class Begin>
  void submit(const std::shared_ptr<RequestSink>& sink, Request&& request, Begin begin) noexcept;
  void on_drained();
  void stop_port_if_due();  // called under mutex_

  const boost::asio::any_io_executor executor_;
  Gate gate_;
  const std::shared_ptr<RequestsInFlight> in_flight_ = std::make_shared<RequestsInFlight>();
  const std::shared_ptr<OneTimeEvent> drained_ = std::make_shared<OneTimeEvent>();
  const std::shared_ptr<OneTimeEvent> stopped_ = std::make_shared<OneTimeEvent>();

  std::mutex mutex_;  // guards the members below; requests do not lock it
  bool draining_ = false;
  bool is_drained_ = false;
  bool shutting_down_ = false;
  bool stopping_ = false;
  std::function<void()> on_stopped_;   // made at the start: there may be no memory at the end
  std::unique_ptr<RequestPort> port_;  // constant until close()
};

}  // namespace weft
