#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"
#include "weft/core/metrics.h"

namespace weft {

class TrainingState;
struct ModelList;
struct ServedModel;

/// Called when a model was loaded or unloaded, or has failed; on any thread, or within the call.
using ModelDone = std::function<void(Result<void>)>;

/// The engine's numbers at one moment.
struct EngineStats {
  std::size_t requests = 0;               ///< requests that have not ended
  std::size_t waiting = 0;                ///< requests that wait for rows or pages
  std::size_t running = 0;                ///< sequences that hold rows
  std::int64_t queued_prompt_tokens = 0;  ///< of `requests`, by the receiver's estimate
  std::int32_t rows = 0;
  std::int32_t pages = 0;
  std::int32_t pages_free = 0;
  std::int64_t max_context = 0;
  std::uint64_t ticks = 0;
  std::uint64_t prompt_tokens = 0;  ///< computed since the start
  std::uint64_t output_tokens = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t accepted_guesses = 0;  ///< tokens that were guessed and became output
  std::uint64_t rejected_guesses = 0;  ///< tokens that were guessed wrongly
  std::uint64_t prefix_lookups = 0;    ///< requests that looked for their beginning in the KV cache
  std::uint64_t prefix_hits = 0;       ///< lookups that found a part of it
  std::uint64_t prefix_tokens = 0;     ///< tokens found, which need not be computed
  std::uint64_t prefix_evictions = 0;  ///< pages that were evicted
  std::int32_t prefix_pages = 0;       ///< pages that can be found now, in use or free
  std::int32_t host_pages = 0;         ///< pages that can be found in host memory
  std::int64_t file_pages = 0;         ///< pages that can be found in files
  std::uint64_t finished = 0;          ///< ended requests, without those refused on arrival
  /// Median time to the first token, in seconds, of the last ended requests; 0 before the first
  /// request has ended.
  double first_token_median = 0;
};

/// The request in a row, and its use of the row.
struct RowHolder {
  RequestId request{};   ///< none: the row is free
  bool decodes = false;  ///< all its known tokens are planned, so each step gives it a token

  friend bool operator==(const RowHolder&, const RowHolder&) = default;
};

/// Accepts requests. Thread-safe, except for the destructor. The destructor finishes every active
/// request with EngineErrc::kStopping and waits until its actors have exited; it needs no running
/// executor.
class RequestPort {
 public:
  RequestPort() = default;
  RequestPort(const RequestPort&) = delete;
  RequestPort& operator=(const RequestPort&) = delete;
  virtual ~RequestPort() = default;

  /// Makes a request for this port; its ticket comes back through submit().
  [[nodiscard]] virtual std::shared_ptr<ActiveRequest> make_request(
      Request request, std::shared_ptr<RequestSink> sink) = 0;

  /// Takes the request over in any case; a refusal is its terminal event.
  virtual void submit(RequestTicket ticket) noexcept = 0;

  /// Asks the actors to exit once no request is left, and calls `stopped` once all have exited, on
  /// any thread or within the call. It must not block, and may be called once.
  virtual void stop(std::function<void()> stopped) noexcept = 0;

  /// The present numbers, read at slightly different times.
  [[nodiscard]] virtual EngineStats stats() const = 0;
  /// The request in each row, read at slightly different times. Empty if the port does not know
  /// them.
  [[nodiscard]] virtual std::vector<RowHolder> rows() const { return {}; }
  /// The port's metrics; valid as long as the port.
  [[nodiscard]] virtual MetricsRegistry& metrics() const noexcept = 0;
  /// The first model; null if there is none, or while it is not loaded.
  [[nodiscard]] virtual std::shared_ptr<const ServedModel> model() const { return nullptr; }
  /// The present state of all models; null for a port with a single, unnamed model. Immutable.
  [[nodiscard]] virtual std::shared_ptr<const ModelList> models() const { return nullptr; }
  /// Loads a model, or unloads it once its requests have ended; Engine::async_load has the errors.
  // NOLINTBEGIN(performance-unnecessary-value-param): overriding ports keep `done`
  virtual void load_model(const std::string& /*name*/, ModelDone done) {
    done(Error{EngineErrc::kNoSuchModel, {}});
  }
  virtual void unload_model(const std::string& /*name*/, ModelDone done) {
    done(Error{EngineErrc::kNoSuchModel, {}});
  }
  /// Loads or unloads an adapter of a model; Engine::async_load_adapter has the errors.
  virtual void change_adapter(AdapterChange change, ModelDone done) {
    done(Error{EngineErrc::kNoSuchAdapter, "adapter: " + change.name});
  }
  /// Begins a training task; Engine::async_train has the errors.
  virtual void train(const std::shared_ptr<TrainingState>& /*task*/, ModelDone done) {
    done(can_train());
  }
  // NOLINTEND(performance-unnecessary-value-param)
  /// Returns the error with which train() would refuse every task now; Engine::can_train has the
  /// errors.
  [[nodiscard]] virtual Result<void> can_train() const {
    return Error{EngineErrc::kBadRequest, "training: an engine of several models does not train"};
  }
  /// Whether it can serve: no actor that it needs has failed permanently.
  [[nodiscard]] virtual bool ready() const noexcept = 0;
  /// Whether any request would be refused with kOverloaded now. Takes next to no
  /// time.
  [[nodiscard]] virtual bool full() const noexcept { return false; }
};

}  // namespace weft
