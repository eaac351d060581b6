#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/pipeline_observer.h"
#include "weft/actors/preprocess/preprocess_pool.h"
#include "weft/actors/request/request_port.h"
#include "weft/actors/request_messages.h"
#include "weft/config/config.h"
#include "weft/core/actor/actor_system.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/gpu/step_device.h"

namespace weft {

class PipelineStats;
class RankGroup;

/// How a pipeline is put together, besides the configuration of what it does.
struct PipelineOptions {
  PipelineOptions() = default;  // no aggregate: docs/asio-compliance.md says why

  ActorSystemOptions system{};
  /// Whether scheduler, executor, detokenizer and preprocess workers have threads of their own, so
  /// that an application's handlers never delay a tick and no tick delays a handler. Without them
  /// every actor runs on the application's executor, a step of the device included: the whole
  /// engine on the threads that the application gives it, which may be one. Executors of several
  /// ranks, whose steps wait for one another, have threads of their own all the same.
  bool own_threads = true;
  /// How many messages an actor handles before it lets others on its executor run.
  std::size_t messages_per_activation = defaults::kMessagesPerActivation;
  /// Watches scheduler and detokenizer; may be null.
  std::shared_ptr<PipelineObserver> observer{};
  /// Told how much of the weights is loaded; its `stop` leaves the loading half-way.
  LoadProgress progress{};
  /// Hears of what went wrong and was made good, as a page of the KV cache that could not be
  /// written, and once of requests that run without guesses (Config::speculation). Called on any
  /// thread; it must return soon and not throw.
  std::function<void(const std::string& what)> notice{};
  /// What the model's memory is taken from, for engines that share a device; null: from what the
  /// device has free.
  std::shared_ptr<MemoryBudget> memory_budget{};
  /// What the model is called beside others of the engine: a label of its metrics, and in the names
  /// of its actors. Empty: it is alone, and needs no name.
  std::string model{};
  /// Stands something of the caller's before the device of a replica that has one rank, such as one
  /// that waits for its turn among other engines; null: nothing. Devices keep their limits.
  std::function<std::shared_ptr<StepDevice>(std::shared_ptr<StepDevice> device)> before_device{};
  /// Starts an actor of the application's own between receiver and preprocessing, such as a filter:
  /// in `system`; it accepts PreprocessProtocol, and gives to `next` what shall go on.
  std::function<ActorRef<PreprocessProtocol>(ActorSystem& system, const PreprocessPool& next)>
      before_preprocess{};
};

/// The five kinds of actor, connected. A *replica* is a scheduler with its executors, one for each
/// rank of its device, and its detokenizer. Receiver and preprocessing are those of all replicas,
/// which are alike; a request runs on one of them from its first token to its last.
class Pipeline final : public RequestPort {
 public:
  /// Opens the model, measures the device and takes its memory. Throws boost::system::system_error
  /// with the Error that says what was wrong.
  Pipeline(boost::asio::any_io_executor executor, const Config& config,
           const PipelineOptions& options = {});
  /// Serves a model on devices that exist already, the ranks of each replica, with limits that are
  /// the same. `config.model` is not looked at.
  Pipeline(boost::asio::any_io_executor executor, const Config& config, ServedModel model,
           std::vector<DeviceRanks> devices, const PipelineOptions& options = {});
  ~Pipeline() override;

  [[nodiscard]] std::shared_ptr<ActiveRequest> make_request(
      Request request, std::shared_ptr<RequestSink> sink) override;
  void submit(RequestTicket ticket) noexcept override;
  void stop(std::function<void()> stopped) noexcept override;
  [[nodiscard]] EngineStats stats() const override;
  [[nodiscard]] std::vector<RowHolder> rows() const override;
  [[nodiscard]] MetricsRegistry& metrics() const noexcept override { return *metrics_; }
  [[nodiscard]] bool ready() const noexcept override { return actors_.ready(); }
  [[nodiscard]] bool full() const noexcept override;

  /// The model that is served. Immutable.
  [[nodiscard]] std::shared_ptr<const ServedModel> model() const override { return model_; }

 private:
  /// Puts the actors together.
  class Assembly;

  const std::shared_ptr<MetricsRegistry> metrics_;  // outlives all that count
  std::shared_ptr<const ServedModel> model_;
  std::shared_ptr<PipelineStats> stats_;
  std::vector<std::shared_ptr<RankGroup>> ranks_;  // one for each replica
  IdSource<RequestKind> ids_;
  std::optional<ActorRef<ReceiverProtocol>> receiver_;
  ActorSystem actors_;
};

}  // namespace weft
