#include "weft/actors/engine/engine_core.h"

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/request_bounds.h"
#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

/// Returns the failure's text; empty if there is no memory for it.
std::string detail_of(const std::exception& failure) noexcept {
  try {
    return failure.what();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void refuse(RequestSink& sink, Error error) noexcept {
  Finish finish;
  finish.reason = FinishReason::kError;
  finish.error = std::move(error);
  sink.finish(std::move(finish));
}

}  // namespace

EngineCore::EngineCore(boost::asio::any_io_executor executor, std::unique_ptr<RequestPort> port)
    : executor_(std::move(executor)), port_(std::move(port)) {
  // The port may call it from one of its actors, so it must not keep the port alive.
  on_stopped_ = [stopped = stopped_] { stopped->fire(); };
}

std::shared_ptr<StreamState> EngineCore::make_stream(const Request& request) const {
  const std::int32_t choices = check_outputs(request) ? output_count(request) : 0;
  return std::make_shared<StreamState>(request, choices, executor_);
}

template <class Begin>
void EngineCore::submit(const std::shared_ptr<RequestSink>& sink, Request&& request,
                        Begin begin) noexcept {
  Error refusal{EngineErrc::kInternal, {}};
  try {
    if (Result<void> checked = check_outputs(request); !checked) {
      return refuse(*sink, std::move(checked).error());
    }
    Gate::Holder place = gate_.try_enter();
    if (!place) return refuse(*sink, {EngineErrc::kStopping, {}});
    std::shared_ptr<ActiveRequest> active = port_->make_request(std::move(request), sink);
    begin(active);
    const EndCause cause = in_flight_->add(*active, std::move(place));
    if (cause != EndCause::kNone) active->ask_to_end(cause);
    return port_->submit(RequestTicket(std::move(active)));
  } catch (const std::exception& failure) {
    refusal.detail = detail_of(failure);
  }
  refuse(*sink, std::move(refusal));
}

void EngineCore::submit(const std::shared_ptr<StreamState>& stream, Request&& request) noexcept {
  submit(std::shared_ptr<RequestSink>(stream), std::move(request),
         [&](const std::shared_ptr<ActiveRequest>& active) { stream->set_request(active); });
}

std::shared_ptr<ActiveRequest> EngineCore::submit(const std::shared_ptr<RequestSink>& sink,
                                                  Request&& request) noexcept {
  std::shared_ptr<ActiveRequest> begun;
  submit(sink, std::move(request),
         [&](const std::shared_ptr<ActiveRequest>& active) { begun = active; });
  return begun;
}

std::shared_ptr<OneTimeEvent> EngineCore::drain() {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = !std::exchange(draining_, true);
  }
  gate_.close();
  if (first) gate_.on_empty([self = shared_from_this()] { self->on_drained(); });
  return drained_;
}

void EngineCore::on_drained() {
  drained_->fire();
  const std::scoped_lock lock(mutex_);
  is_drained_ = true;
  stop_port_if_due();
}

std::shared_ptr<OneTimeEvent> EngineCore::shut_down() {
  gate_.close();
  in_flight_->end_all(EndCause::kShutdown);
  drain();
  const std::scoped_lock lock(mutex_);
  shutting_down_ = true;
  stop_port_if_due();
  return stopped_;
}

void EngineCore::stop_port_if_due() {
  if (!is_drained_ || !shutting_down_ || stopping_ || !port_) return;
  stopping_ = true;
  port_->stop(std::move(on_stopped_));
}

void EngineCore::load(const std::string& model, const std::shared_ptr<ModelOperation>& operation) {
  if (port_ == nullptr) return operation->complete(Error{EngineErrc::kStopping, {}});
  port_->load_model(model, [operation](const Result<void>& done) { operation->complete(done); });
}

void EngineCore::unload(const std::string& model,
                        const std::shared_ptr<ModelOperation>& operation) {
  if (port_ == nullptr) return operation->complete(Error{EngineErrc::kStopping, {}});
  port_->unload_model(model, [operation](const Result<void>& done) { operation->complete(done); });
}

void EngineCore::change_adapter(AdapterChange change,
                                const std::shared_ptr<ModelOperation>& operation) {
  if (port_ == nullptr) return operation->complete(Error{EngineErrc::kStopping, {}});
  port_->change_adapter(std::move(change),
                        [operation](const Result<void>& done) { operation->complete(done); });
}

void EngineCore::train(const std::shared_ptr<TrainingState>& task,
                       const std::shared_ptr<ModelOperation>& operation) {
  if (port_ == nullptr) return operation->complete(Error{EngineErrc::kStopping, {}});
  port_->train(task, [operation](const Result<void>& done) { operation->complete(done); });
}

void EngineCore::close() noexcept {
  gate_.close();
  std::unique_ptr<RequestPort> port;
  {
    const std::scoped_lock lock(mutex_);
    port = std::move(port_);
  }
  port.reset();
  if (gate_.holders() != 0) internal_error_noexcept("a port has ended without its requests");
  stopped_->fire();
}

}  // namespace weft
