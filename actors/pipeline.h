#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/actors/adapters/adapter_messages.h"
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
class TrainingSlot;

/// Options of a pipeline, besides its Config.
struct PipelineOptions {
  PipelineOptions() = default;  // no aggregate: docs/asio-compliance.md says why

  ActorSystemOptions system{};
  /// Whether scheduler, executor, detokenizer and preprocess workers have their own threads, so
  /// that an application's handlers and ticks never delay each other. Otherwise every actor, and so
  /// each step of the device, runs on the application's executor, which may have a single thread.
  /// Executors of several ranks always have their own threads, since their steps wait for each
  /// other.
  bool own_threads = true;
  /// How many messages an actor handles before it lets others on its executor run.
  std::size_t messages_per_activation = defaults::kMessagesPerActivation;
  /// Watches scheduler and detokenizer; may be null.
  std::shared_ptr<PipelineObserver> observer{};
  /// Reports how much of the weights is loaded; its `stop` ends the loading early.
  LoadProgress progress{};
  /// Receives notices of problems that were handled, such as a page of the KV cache that could not
  /// be written, and one notice of requests that run without guesses (Config::speculation). Called
  /// on any thread; it must return soon and not throw.
  std::function<void(const std::string& what)> notice{};
  /// The budget for the model's memory, for engines that share a device; null: the device's free
  /// memory.
  std::shared_ptr<MemoryBudget> memory_budget{};
  /// The model's name among several models of an engine, for the label of its metrics and the names
  /// of its actors. Empty: the only model.
  std::string model{};
  /// Wraps the device of a replica of one rank, for instance to wait for its turn among other
  /// engines; null: no wrapper. The wrapper must keep the device's limits.
  std::function<std::shared_ptr<StepDevice>(std::shared_ptr<StepDevice> device)> before_device{};
  /// Starts an application's actor, such as a filter, in `system` between receiver and
  /// preprocessing. It accepts PreprocessProtocol, and passes requests that may continue to `next`.
  std::function<ActorRef<PreprocessProtocol>(ActorSystem& system, const PreprocessPool& next)>
      before_preprocess{};
};

/// The five kinds of actors, connected. A *replica* is a scheduler with its executors, one for each
/// rank of its device, and its detokenizer. All replicas are equal and share receiver and
/// preprocessing; a request runs on one replica from its first token to its last.
class Pipeline final : public RequestPort {
 public:
  /// Opens the model, measures the device and allocates its memory. Throws
  /// boost::system::system_error with the Error.
  Pipeline(boost::asio::any_io_executor executor, const Config& config,
           const PipelineOptions& options = {});
  /// Serves a model on existing devices, the ranks of each replica, all with the same limits.
  /// `config.model` is unused.
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
  void change_adapter(AdapterChange change, ModelDone done) override;
  void train(const std::shared_ptr<TrainingState>& task, ModelDone done) override;
  [[nodiscard]] Result<void> can_train() const override;

 private:
  /// Puts the actors together.
  class Assembly;

  const std::shared_ptr<MetricsRegistry> metrics_;  // outlives all that count
  std::shared_ptr<const ServedModel> model_;
  std::shared_ptr<PipelineStats> stats_;
  std::vector<std::shared_ptr<RankGroup>> ranks_;  // one for each replica
  std::shared_ptr<TrainingSlot> training_;         // the first replica's; null: none trains
  std::string trains_not_;                         // why none does
  IdSource<RequestKind> ids_;
  std::optional<ActorRef<ReceiverProtocol>> receiver_;
  std::optional<ActorRef<AdapterReaderProtocol>> adapter_reader_;  // none: it takes no adapters
  ActorSystem actors_;
};

}  // namespace weft
