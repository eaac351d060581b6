#include "weft/actors/pipeline.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "weft/actors/adapters/adapter_actor.h"
#include "weft/actors/adapters/adapter_reader_actor.h"
#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/defaults.h"
#include "weft/actors/detokenizer_actor.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/executor_actor.h"
#include "weft/actors/failure.h"
#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/model_label.h"
#include "weft/actors/pipeline_stats.h"
#include "weft/actors/preprocess/preprocess_actor.h"
#include "weft/actors/receiver_actor.h"
#include "weft/actors/replicas/replica_loads.h"
#include "weft/actors/request/request_text.h"
#include "weft/actors/scheduler_actor.h"
#include "weft/actors/training/training_slot.h"
#include "weft/gpu/files/page_files.h"

namespace weft {
namespace {

std::shared_ptr<MetricsRegistry> registry_of(const PipelineOptions& options) {
  return options.system.metrics ? options.system.metrics : std::make_shared<MetricsRegistry>();
}

ActorSystemOptions system_options(const PipelineOptions& options,
                                  std::shared_ptr<MetricsRegistry> metrics) {
  ActorSystemOptions system = options.system;
  system.metrics = std::move(metrics);
  return system;
}

/// Returns the size of a mailbox with room for the messages of all requests that may be
/// active.
std::size_t mailbox_of(const Config& config) {
  return 2 * static_cast<std::size_t>(config.max_queued_requests) + defaults::kSpareMessages;
}

ActorOptions on_executor(std::string name, ActorRole role, std::size_t capacity,
                         const PipelineOptions& options) {
  if (!options.model.empty()) name += "@" + options.model;
  ActorOptions how{.name = std::move(name), .role = role, .capacity = capacity};
  how.messages_per_activation = options.messages_per_activation;
  return how;
}

ActorOptions on_thread(std::string name, ActorRole role, std::size_t capacity,
                       const PipelineOptions& options) {
  ActorOptions how = on_executor(std::move(name), role, capacity, options);
  // No thread spins. Under load the executor finds its next plan in the mailbox, and the other
  // actors have a whole step's time, so a wake-up delays no step. Spinning would take 20 us of
  // several processors each tick, on which the host device computes.
  if (options.own_threads) how.thread.emplace(DedicatedThread{.spin = {}, .cpu = {}});
  return how;
}

}  // namespace

/// Starts a pipeline's actors, the last one first, since each is given the next.
class Pipeline::Assembly {
 public:
  Assembly(Pipeline& pipeline, const Config& config, const PipelineOptions& options)
      : pipeline_(pipeline), config_(config), options_(options) {}

  void start(std::vector<DeviceRanks> devices);

 private:
  /// Starts the actors of the replica of this number.
  ReplicaEntry start_replica(DeviceRanks devices, std::size_t number, const std::string& suffix,
                             const std::shared_ptr<ExecutorMetrics>& metrics);
  /// Returns the address of a rank's executor, which is started later.
  ActorRef<ExecutorProtocol> declare_executor(const DeviceRanks& devices, std::size_t rank,
                                              const std::string& suffix);
  /// Decides whether the first replica can train, and if so makes the place for a task.
  void allow_training(const DeviceRanks& devices, const ActorRef<SchedulerProtocol>& scheduler);
  PreprocessPool start_workers(const std::vector<ReplicaEntry>& replicas);
  std::optional<ActorRef<AdapterProtocol>> declare_adapters();
  void start_adapters(const ActorRef<AdapterProtocol>& adapters, const PreprocessPool& pool);

  Pipeline& pipeline_;
  const Config& config_;
  const PipelineOptions& options_;
  std::int64_t page_bytes_ = 0;
  std::shared_ptr<PageFiles> files_;  // for the only replica that may have files
};

void Pipeline::Assembly::start(std::vector<DeviceRanks> devices) {
  const std::size_t replicas = devices.size();
  files_ = devices.front().front()->page_files();
  if (files_ != nullptr && options_.notice) files_->tell_by(options_.notice);
  if (pipeline_.model_->adapters != nullptr) pipeline_.model_->adapters->tell_by(options_.notice);
  for (DeviceRanks& ranks : devices) {
    if (!options_.before_device || ranks.size() != 1) continue;
    ranks.front() = options_.before_device(std::move(ranks.front()));
  }
  const std::int64_t pages = std::max(devices.front().front()->limits().pages, 1);
  page_bytes_ = pipeline_.model_->kv_bytes / (static_cast<std::int64_t>(replicas) * pages);
  pipeline_.stats_ = std::make_shared<PipelineStats>(
      pipeline_.metrics(), devices.front().front()->limits(), replicas, config_.max_queued_requests,
      pipeline_.model_->kv_bytes, options_.model);
  const auto executor_metrics =
      std::make_shared<ExecutorMetrics>(pipeline_.metrics(), options_.model);
  std::vector<ReplicaEntry> entries;
  for (std::size_t i = 0; i < replicas; ++i) {
    const std::string suffix = replicas > 1 ? "-" + std::to_string(i) : "";
    entries.push_back(start_replica(std::move(devices[i]), i, suffix, executor_metrics));
  }
  const PreprocessPool pool = start_workers(entries);
  ReceiverActor::Next next = [pool](PrepareMsg&& message) {
    return pool.try_send(std::move(message));
  };
  if (options_.before_preprocess) {
    next = [filter = options_.before_preprocess(pipeline_.actors_, pool)](PrepareMsg&& message) {
      return filter.try_send(std::move(message));
    };
  }
  pipeline_.receiver_ = pipeline_.actors_.spawn<ReceiverActor>(
      on_executor("receiver", ActorRole::kReceiver, mailbox_of(config_), options_),
      queue_bounds(config_, pipeline_.model_.get()), pipeline_.model_, pipeline_.stats_,
      std::move(next));
}

ActorRef<ExecutorProtocol> Pipeline::Assembly::declare_executor(const DeviceRanks& devices,
                                                                std::size_t rank,
                                                                const std::string& suffix) {
  const auto stages = static_cast<std::size_t>(devices.front()->limits().stages);
  ActorOptions how =
      on_thread("executor" + suffix + (rank > 0 ? "-rank-" + std::to_string(rank) : ""),
                ActorRole::kExecutor, defaults::kExecutorMessages + stages, options_);
  // Not in tests that deliver each message themselves, over devices that do not wait.
  const bool waits = devices.size() > 1 && options_.system.tap == nullptr;
  if (waits && !how.thread) how.thread.emplace(DedicatedThread{.spin = {}, .cpu = {}});
  return pipeline_.actors_.declare<ExecutorProtocol>(std::move(how));
}

ReplicaEntry Pipeline::Assembly::start_replica(DeviceRanks devices, std::size_t number,
                                               const std::string& suffix,
                                               const std::shared_ptr<ExecutorMetrics>& metrics) {
  auto scheduler = pipeline_.actors_.declare<SchedulerProtocol>(
      on_thread("scheduler" + suffix, ActorRole::kScheduler, mailbox_of(config_), options_));
  auto executor = declare_executor(devices, 0, suffix);
  auto detokenizer = pipeline_.actors_.declare<DetokenizerProtocol>(
      on_thread("detokenizer" + suffix, ActorRole::kDetokenizer, mailbox_of(config_), options_));

  std::vector<ActorRef<ExecutorProtocol>> others;
  for (std::size_t rank = 1; rank < devices.size(); ++rank) {
    others.push_back(declare_executor(devices, rank, suffix));
  }

  const DeviceLimits limits = devices.front()->limits();
  SchedulerOptions options = scheduler_options(config_, limits);
  options.page_bytes = page_bytes_;
  options.files = files_;
  auto state = std::make_shared<SchedulerState>(options);
  // A refused wake-up is harmless: a scheduler with a full mailbox checks after each message.
  state->ending = std::make_shared<EndingRequests>(
      [scheduler] { static_cast<void>(scheduler.try_send(EndingMsg{})); });
  state->stats = pipeline_.stats_;
  state->replica = number;
  state->observer = options_.observer;
  state->notice = options_.notice;
  ReplicaEntry entry{scheduler, state->ending};
  if (number == 0) {
    allow_training(devices, scheduler);
    state->training = pipeline_.training_;
  }

  const std::shared_ptr<TrainingSlot> training = state->training;
  const std::shared_ptr<TickPool> ticks(state, &state->ticks);
  const auto ranks = std::make_shared<RankGroup>(std::move(devices));
  const auto start_executor = [&](const ActorRef<ExecutorProtocol>& ref, std::size_t rank,
                                  const std::vector<ActorRef<ExecutorProtocol>>& led) {
    auto mine = std::make_shared<ExecutorState>();
    mine->ranks = ranks;
    mine->rank = rank;
    mine->metrics = metrics;
    mine->ticks = ticks;
    mine->training = training;
    pipeline_.actors_.start<ExecutorActor>(ref, std::move(mine), ref, scheduler, led);
  };
  for (std::size_t i = 0; i < others.size(); ++i) start_executor(others[i], i + 1, {});
  start_executor(executor, 0, others);
  ranks->watch([executor](const std::string& why) {
    static_cast<void>(executor.try_send(DeviceLostMsg{why}));
  });
  pipeline_.ranks_.push_back(ranks);
  pipeline_.actors_.start<DetokenizerActor>(detokenizer, ticks, scheduler, options_.observer);
  pipeline_.actors_.start<SchedulerActor>(scheduler, std::move(state), executor, detokenizer);
  return entry;
}

void Pipeline::Assembly::allow_training(const DeviceRanks& devices,
                                        const ActorRef<SchedulerProtocol>& scheduler) {
  std::string& why_not = pipeline_.trains_not_;
  if (config_.training == TrainingKind::kOff) {
    why_not = "training.policy is \"off\"";
  } else if (devices.size() > 1) {
    why_not = "a model that is cut into ranks does not train";
  } else if (!devices.front()->lets_train()) {
    why_not = "only a model on the host trains, not one on a GPU";
  } else {
    // A refused wake-up is harmless, as for requests that were asked to end.
    pipeline_.training_ = std::make_shared<TrainingSlot>(
        [scheduler] { static_cast<void>(scheduler.try_send(TrainingMsg{})); });
  }
}

PreprocessPool Pipeline::Assembly::start_workers(const std::vector<ReplicaEntry>& replicas) {
  const auto loads = std::make_shared<ReplicaLoads>(
      pipeline_.metrics(), replicas.size(), options_.model,
      config_.cache_enabled && config_.kv_layout == KvLayout::kPages);
  std::random_device entropy;
  const auto adapters = declare_adapters();
  const auto start = [&](const std::string& name, std::int32_t count, bool goes_last) {
    PreprocessPool::Workers workers;
    for (std::int32_t i = 0; i < count; ++i) {
      ActorOptions how = on_thread(name + "-" + std::to_string(i), ActorRole::kPreprocess,
                                   mailbox_of(config_), options_);
      if (how.thread) how.thread->goes_last = goes_last;
      const std::uint64_t seed = std::uint64_t{entropy()} << 32U | entropy();
      workers.push_back(pipeline_.actors_.spawn<PreprocessActor>(std::move(how), pipeline_.model_,
                                                                 replicas, loads, seed, adapters));
    }
    return workers;
  };
  const std::int32_t count = config_.preprocess_workers;
  const auto for_small = start("preprocess", count, /*goes_last=*/false);
  const PreprocessPool pool(for_small, start("large-prompts", (count + 1) / 2, /*goes_last=*/true));
  if (adapters) start_adapters(*adapters, pool);
  return pool;
}

/// Declares the two actors that wait for adapters and read them; nothing where there are none.
std::optional<ActorRef<AdapterProtocol>> Pipeline::Assembly::declare_adapters() {
  if (pipeline_.model_->adapters == nullptr) return std::nullopt;
  ActorOptions how =
      on_thread("adapter-reader", ActorRole::kPreprocess, mailbox_of(config_), options_);
  if (how.thread) how.thread->goes_last = true;
  // Its work is a few comparisons, as the receiver's is.
  auto adapters = pipeline_.actors_.declare<AdapterProtocol>(
      on_executor("adapters", ActorRole::kPreprocess, mailbox_of(config_), options_));
  pipeline_.adapter_reader_ = pipeline_.actors_.declare<AdapterReaderProtocol>(std::move(how));
  return adapters;
}

void Pipeline::Assembly::start_adapters(const ActorRef<AdapterProtocol>& adapters,
                                        const PreprocessPool& pool) {
  // A refused wake-up is harmless: an actor with a full mailbox checks after each message.
  auto ending = std::make_shared<EndingRequests>(
      [adapters] { static_cast<void>(adapters.try_send(AdapterEndingMsg{})); });
  const ActorRef<AdapterReaderProtocol>& reader = *pipeline_.adapter_reader_;
  pipeline_.actors_.start<AdapterReaderActor>(reader, pipeline_.model_, adapters);
  pipeline_.actors_.start<AdapterActor>(adapters, pipeline_.model_, pool, reader,
                                        std::move(ending));
}

namespace {

/// A model as the actors share it.
std::shared_ptr<const ServedModel> shared_model(ServedModel model, const Config& config,
                                                const std::shared_ptr<MetricsRegistry>& metrics,
                                                const std::string& name) {
  Gauge& held = metrics->gauge("weft_structured_bytes",
                               "Bytes of compiled schemas and grammars, their states and masks",
                               with_model(name));
  apply_config(model, config, std::shared_ptr<Gauge>(metrics, &held));
  return std::make_shared<const ServedModel>(std::move(model));
}

}  // namespace

Pipeline::Pipeline(boost::asio::any_io_executor executor, const Config& config,
                   const PipelineOptions& options)
    : metrics_(registry_of(options)),
      actors_(std::move(executor), system_options(options, metrics_)) {
  LoadedModel loaded =
      load_configured_model(config, options.progress, options.memory_budget).value();
  model_ = shared_model(std::move(loaded.model), config, metrics_, options.model);
  Assembly(*this, config, options).start(std::move(loaded.devices));
}

Pipeline::Pipeline(boost::asio::any_io_executor executor, const Config& config, ServedModel model,
                   std::vector<DeviceRanks> devices, const PipelineOptions& options)
    : metrics_(registry_of(options)),
      actors_(std::move(executor), system_options(options, metrics_)) {
  model_ = shared_model(std::move(model), config, metrics_, options.model);
  Assembly(*this, config, options).start(std::move(devices));
}

Pipeline::~Pipeline() {
  if (training_) training_->stop({EngineErrc::kStopping, {}});
  // The actors that devices would notify are about to end.
  for (const auto& ranks : ranks_) ranks->watch({});
}

void Pipeline::change_adapter(AdapterChange change, ModelDone done) {
  if (!adapter_reader_) {
    return done(weft::change_adapter(*model_, change));  // which says so
  }
  ChangeAdapterMsg message{std::move(change), std::move(done)};
  const PushResult result = adapter_reader_->try_send(std::move(message));
  if (!taken(result)) message.done(refusal_of(result, ready()));
}

void Pipeline::train(const std::shared_ptr<TrainingState>& task, ModelDone done) {
  if (auto can = can_train(); !can) return done(std::move(can));
  training_->put(task, done);
}

Result<void> Pipeline::can_train() const {
  if (!training_) return Error{EngineErrc::kBadRequest, "training: " + trains_not_};
  if (!ready()) return Error{EngineErrc::kNotReady, {}};
  return {};
}

std::shared_ptr<ActiveRequest> Pipeline::make_request(Request request,
                                                      std::shared_ptr<RequestSink> sink) {
  return std::make_shared<ActiveRequest>(ids_.next(), std::move(request), std::move(sink),
                                         actors_.clock().now());
}

void Pipeline::submit(RequestTicket ticket) noexcept {
  SubmitMsg message{std::move(ticket)};
  const PushResult result = receiver_->try_send(std::move(message));
  if (taken(result)) return;
  std::move(message.ticket).fail(refusal_of(result, ready()));
}

void Pipeline::stop(std::function<void()> stopped) noexcept {
  if (training_) training_->stop({EngineErrc::kStopping, {}});
  actors_.async_stop([stopped = std::move(stopped)] { stopped(); });
}

EngineStats Pipeline::stats() const { return stats_->read(); }

bool Pipeline::full() const noexcept { return stats_->full(); }

std::vector<RowHolder> Pipeline::rows() const { return stats_->rows(); }

}  // namespace weft
