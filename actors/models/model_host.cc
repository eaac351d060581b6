#include "weft/actors/models/model_host.h"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/models/device_memory.h"
#include "weft/actors/models/device_turns.h"
#include "weft/actors/models/model_files.h"
#include "weft/actors/models/model_slot.h"
#include "weft/actors/request/request_bounds.h"
#include "weft/core/error/internal_error.h"
#include "weft/core/time/steady_clock.h"

namespace weft {
namespace {

/// Returns a function that makes pipelines which share model files and weights.
ModelHostOptions::MakeModel maker_of_pipelines() {
  return [files = std::make_shared<ModelFiles>()](
             boost::asio::any_io_executor executor, const Config& config,
             const PipelineOptions& options) -> std::unique_ptr<RequestPort> {
    const OpenedModel opened =
        files->open(config.model, config.spec, config.weights, config.adapter).value();
    Tokenizer tokenizer = load_tokenizer(config.model).value();
    LoadedModel loaded = load_served(opened, std::move(tokenizer), config, options.progress,
                                     options.memory_budget, files->weights())
                             .value();
    return std::make_unique<Pipeline>(std::move(executor), config, std::move(loaded.model),
                                      std::move(loaded.devices), options);
  };
}

ModelHostOptions with_defaults(ModelHostOptions options) {
  if (!options.make) options.make = maker_of_pipelines();
  ActorSystemOptions& system = options.pipeline.system;
  if (!system.metrics) system.metrics = std::make_shared<MetricsRegistry>();
  if (!system.clock) system.clock = std::make_shared<SteadyClock>();
  return options;
}

/// Returns the error for a model that is not loaded.
EngineErrc why_not_loaded(ModelState state) {
  switch (state) {
    case ModelState::kLoading:
      return EngineErrc::kModelLoading;
    case ModelState::kUnloading:
      return EngineErrc::kModelUnloading;
    case ModelState::kFailed:
      return EngineErrc::kModelFailed;
    default:
      return EngineErrc::kModelNotLoaded;
  }
}

ModelsConfig checked(ModelsConfig config) {
  config.validate().value();
  return config;
}

}  // namespace

ModelHost::ModelHost(boost::asio::any_io_executor executor, ModelsConfig config,
                     ModelHostOptions options)
    : executor_(std::move(executor)),
      config_(checked(std::move(config))),
      options_(with_defaults(std::move(options))),
      metrics_(options_.pipeline.system.metrics),
      clock_(options_.pipeline.system.clock),
      stop_count_(std::make_shared<StopCount>()),
      memory_(std::make_unique<DeviceMemory>(config_)) {
  for (const ModelConfig& model : config_.models) slots_.emplace_back(model);
  jobs_.reserve(slots_.size() * Job::kKinds + 1);
  publish();
  // No other thread knows the host yet, so none could call stop().
  const std::stop_callback on_stop(options_.pipeline.progress.stop,
                                   [this] { stop_.request_stop(); });
  std::size_t wanted = 0;
  for (Slot& slot : slots_) {
    const bool has_room = !may_load_on_demand() || std::cmp_less(wanted, config_.max_loaded);
    if (!slot.config.load || !has_room) continue;
    ++wanted;
    slot.state = ModelState::kLoading;
    load(slot);
    throw_if_stopped(stop_.get_token());
  }
  if (wanted > 0 && loaded_count() == 0) {
    const auto failed = std::ranges::find(slots_, ModelState::kFailed, &Slot::state);
    throw boost::system::system_error(failed->failure.code, failed->failure.detail);
  }
  if (options_.own_thread) thread_ = std::thread([this] { work(); });
}

ModelHost::~ModelHost() {
  {
    const std::scoped_lock lock(mutex_);
    stop_.request_stop();
  }
  has_work_.notify_all();
  thread_.joinable() ? thread_.join() : refuse_all();
  for (Slot& slot : slots_) slot.running = nullptr;
}

ModelHost::Slot* ModelHost::find(std::string_view name) noexcept {
  const ModelInfo* const found = list_->find(name);
  return found == nullptr ? nullptr
                          : &slots_[static_cast<std::size_t>(found - list_->models.data())];
}

ModelInfo ModelHost::info_of(const Slot& slot) {
  ModelInfo info{.name = slot.config.name,
                 .aliases = slot.config.aliases,
                 .state = slot.state,
                 .failure = slot.failure,
                 .created = slot.created};
  if (slot.running) {
    info.model = slot.running->port->model();
    return info;
  }
  for (const NamedAdapter& one : slot.config.config.adapters) info.adapters.push_back(one.name);
  return info;
}

std::shared_ptr<ModelList> ModelHost::list() const {
  auto list = std::make_shared<ModelList>();
  list->loads_on_demand = may_load_on_demand();
  for (const Slot& slot : slots_) list->models.push_back(info_of(slot));
  return list;
}

ModelHost::NextState ModelHost::next_state(const Slot& slot, ModelState state,
                                           Error failure) const {
  const auto shown = list();
  const auto place = std::ranges::find(slots_, &slot, [](const Slot& one) { return &one; });
  ModelInfo& info = shown->models[static_cast<std::size_t>(place - slots_.begin())];
  info.state = state;
  info.failure = failure;
  return {state, std::move(failure), shown};
}

void ModelHost::enter(Slot& slot, NextState next) noexcept {
  slot.state = next.state;
  slot.failure = std::move(next.failure);
  list_ = std::move(next.list);
}

/// Throws without memory, and nothing has changed then.
void ModelHost::set_state(Slot& slot, ModelState state, Error failure) {
  enter(slot, next_state(slot, state, std::move(failure)));
}

std::size_t ModelHost::loaded_count() const noexcept {
  return static_cast<std::size_t>(std::ranges::count(slots_, ModelState::kLoaded, &Slot::state));
}

std::shared_ptr<ModelHost::Hold> ModelHost::hold(Slot& slot, RequestClass cls) {
  Gate::Holder holder = slot.running->gate.try_enter();
  if (!holder) return nullptr;
  slot.used = ++uses_;
  if (slot.expected > 0) --slot.expected;
  return std::make_shared<Hold>(std::move(holder), slot.running->use, cls);
}

std::shared_ptr<ActiveRequest> ModelHost::make_request(Request request,
                                                       std::shared_ptr<RequestSink> sink) {
  return std::make_shared<ActiveRequest>(ids_.next(), std::move(request), std::move(sink),
                                         clock_->now());
}

void ModelHost::submit(RequestTicket ticket) noexcept {
  try {
    std::optional<Error> refusal;
    RequestPort* port = nullptr;
    Gate::Holder mine;  // the request may end, and its pipeline go, before submit() returns
    {
      const std::scoped_lock lock(mutex_);
      const Request& request = ticket->request();
      Slot* const slot = find(request.model);
      if (slot == nullptr) {
        refusal = Error{EngineErrc::kNoSuchModel, "model: " + request.model};
      } else if (slot->state == ModelState::kLoaded) {
        mine = slot->running->gate.try_enter();
        ticket->keep_until_end(hold(*slot, request.request_class));
        port = slot->running->port.get();
      } else {
        refusal = wait_or_refuse(*slot, ticket);
        if (!refusal) return;
      }
    }
    if (refusal) return std::move(ticket).fail(*std::move(refusal));
    port->submit(std::move(ticket));
  } catch (const std::exception&) {
    // There was no memory; the ticket, if still here, fails the request when it is destroyed.
  }
}

/// Returns why a request cannot have its model now; nothing if the slot keeps it waiting.
std::optional<Error> ModelHost::wait_or_refuse(Slot& slot, RequestTicket& ticket) {
  const std::string name = "model: " + slot.config.name;
  if (stop_.stop_requested()) return Error{EngineErrc::kStopping, {}};
  if (slot.state == ModelState::kFailed) {
    // A lost model is "not ready"; a model that never loaded reports why.
    if (slot.failure.code == EngineErrc::kNotReady) return slot.failure;
    return Error{EngineErrc::kModelFailed, name + ": " + to_string(slot.failure)};
  }
  if (!may_load_on_demand() && slot.state == ModelState::kUnloading) {
    return Error{EngineErrc::kModelUnloading, name};
  }
  if (!may_load_on_demand() && slot.state == ModelState::kUnloaded) {
    return Error{EngineErrc::kModelNotLoaded, name};
  }
  const QueueBounds bounds = queue_bounds(slot.config.config, nullptr);
  const PromptSize size = counted_size(ticket->request(), bounds);
  QueueUse use{.requests = static_cast<std::int64_t>(slot.waiting.size())};
  for (const Slot::Waiting& one : slot.waiting) use.prompt_tokens += one.prompt_tokens;
  const auto room = check_room(size, bounds, use);
  if (!room) return room.error();
  if (slot.state == ModelState::kUnloaded) begin_load(slot);
  slot.waiting.push_back({std::move(ticket), size.tokens});
  return std::nullopt;
}

void ModelHost::load_model(const std::string& name, ModelDone done) {
  change(name, std::move(done), ModelState::kLoaded);
}

void ModelHost::unload_model(const std::string& name, ModelDone done) {
  change(name, std::move(done), ModelState::kUnloaded);
}

/// The model stays in memory until its adapter is loaded or unloaded.
void ModelHost::change_adapter(AdapterChange change, ModelDone done) {
  const auto mine = std::make_shared<Gate::Holder>();
  RequestPort* port = nullptr;
  std::optional<Error> refusal;
  {
    const std::scoped_lock lock(mutex_);
    Slot* const slot = find(change.model);
    if (slot == nullptr) {
      refusal = Error{EngineErrc::kNoSuchModel, "model: " + change.model};
    } else if (stop_.stop_requested()) {
      refusal = Error{EngineErrc::kStopping, {}};
    } else if (slot->state == ModelState::kLoaded) {
      *mine = slot->running->gate.try_enter();
      port = slot->running->port.get();
    } else {
      refusal = Error{why_not_loaded(slot->state), "model: " + slot->config.name};
    }
  }
  if (refusal) return done(*std::move(refusal));
  port->change_adapter(std::move(change),
                       [mine, done = std::move(done)](Result<void> changed) mutable {
                         done(std::move(changed));
                         *mine = Gate::Holder();
                       });
}

/// Returns the port of the only model, which stays as long as `mine`; or why that model is not
/// trained now.
Result<RequestPort*> ModelHost::trained_port(Gate::Holder& mine) const {
  if (slots_.size() > 1) return RequestPort::can_train().error();
  const std::scoped_lock lock(mutex_);
  const Slot& slot = slots_.front();
  if (stop_.stop_requested()) return Error{EngineErrc::kStopping, {}};
  if (slot.state != ModelState::kLoaded)
    return Error{why_not_loaded(slot.state), "model: " + slot.config.name};
  mine = slot.running->gate.try_enter();
  return slot.running->port.get();
}

/// The task does not keep the model in memory: its end ends the task.
void ModelHost::train(const std::shared_ptr<TrainingState>& task, ModelDone done) {
  Gate::Holder mine;  // the pipeline stays until the call returns
  const auto port = trained_port(mine);
  if (!port) return done(port.error());
  (*port)->train(task, std::move(done));
}

Result<void> ModelHost::can_train() const {
  Gate::Holder mine;
  const auto port = trained_port(mine);
  if (!port) return port.error();
  return (*port)->can_train();
}

/// Orders a model to be loaded or unloaded; `done` is called then. Throws without memory, before
/// any change.
void ModelHost::change(const std::string& name, ModelDone done, ModelState wanted) {
  Gate::Holder mine;  // destroyed after the mutex is unlocked, since that may start further work
  std::unique_lock lock(mutex_);
  Slot* const slot = find(name);
  std::optional<Result<void>> now;
  if (slot == nullptr || name.empty()) {
    now.emplace(Error{EngineErrc::kNoSuchModel, "model: " + name});
  } else if (stop_.stop_requested()) {
    now.emplace(Error{EngineErrc::kStopping, {}});
  } else {
    now = wanted == ModelState::kLoaded ? answer_to_load(*slot) : answer_to_unload(*slot);
  }
  if (!now && slot->told.size() >= kMaxModelWaiters) {
    now.emplace(Error{EngineErrc::kOverloaded, "too many wait for the model already"});
  }
  if (now) {
    lock.unlock();
    return done(*std::move(now));
  }
  slot->told.reserve(slot->told.size() + 1);
  if (wanted == ModelState::kLoaded) {
    if (slot->state != ModelState::kLoading) begin_load(*slot);
  } else if (slot->state == ModelState::kLoaded) {
    mine = close(*slot, ModelState::kUnloading);
  }
  slot->told.push_back(std::move(done));
}

/// Returns the immediate answer to a load; nothing if the model is loading or can be loaded.
std::optional<Result<void>> ModelHost::answer_to_load(const Slot& slot) {
  if (slot.state == ModelState::kLoaded) return Result<void>();
  if (slot.state == ModelState::kUnloading || slot.in_memory()) {
    return Error{EngineErrc::kModelUnloading, "model: " + slot.config.name};
  }
  return std::nullopt;
}

/// The same for an unload; nothing if the model is in memory.
std::optional<Result<void>> ModelHost::answer_to_unload(Slot& slot) {
  if (slot.state == ModelState::kLoading) {
    return Error{EngineErrc::kModelLoading, "model: " + slot.config.name};
  }
  if (slot.in_memory()) return std::nullopt;
  set_state(slot, ModelState::kUnloaded);
  return Result<void>();
}

/// Sets a loaded model's state and closes its gate to new requests. The model is removed when its
/// last request has ended and the returned holder is destroyed, without the mutex. Throws without
/// memory, before any change.
Gate::Holder ModelHost::close(Slot& slot, ModelState state, Error failure) {
  NextState next = next_state(slot, state, std::move(failure));
  Gate& gate = slot.running->gate;
  Gate::Holder mine = gate.try_enter();
  gate.on_empty([this, &slot] {
    const std::scoped_lock lock(mutex_);
    add_job({Job::Kind::kUnload, &slot});
  });
  enter(slot, std::move(next));
  return mine;
}

/// Throws without memory, and nothing has changed then.
void ModelHost::begin_load(Slot& slot) {
  set_state(slot, ModelState::kLoading);
  add_job({Job::Kind::kLoad, &slot});
}

/// Allocates no memory, since the last holder of a gate calls it and could not report a failure.
void ModelHost::add_job(Job job) noexcept {
  const bool known =
      job.kind == Job::Kind::kLose && std::ranges::any_of(jobs_, [&job](const Job& one) {
        return one.kind == job.kind && one.slot == job.slot;
      });
  if (known) return;  // only the first lost actor of a pipeline reports why
  if (jobs_.size() == jobs_.capacity()) internal_error_noexcept("a model waits twice for a job");
  jobs_.push_back(std::move(job));
  has_work_.notify_all();
}

void ModelHost::stop(std::function<void()> stopped) noexcept {
  stop_count_->begin(std::move(stopped));
  std::unique_lock lock(mutex_);
  stop_.request_stop();
  // The host's thread counts until it has ended, so a pipeline that it holds now stops as well.
  for (Slot& slot : slots_) {
    if (!slot.running) continue;
    stop_count_->add();
    slot.running->port->stop([count = stop_count_] { count->leave(); });
  }
  has_work_.notify_all();
  lock.unlock();
  if (options_.own_thread) return;
  refuse_all();
  stop_count_->leave();
}

EngineStats ModelHost::stats() const {
  EngineStats sum;
  const std::scoped_lock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (!slot.running) continue;
    const EngineStats one = slot.running->port->stats();
    sum.requests += one.requests;
    sum.waiting += one.waiting;
    sum.running += one.running;
    sum.queued_prompt_tokens += one.queued_prompt_tokens;
    sum.rows += one.rows;
    sum.pages += one.pages;
    sum.pages_free += one.pages_free;
    sum.max_context = std::max(sum.max_context, one.max_context);
    sum.ticks += one.ticks;
    sum.prompt_tokens += one.prompt_tokens;
    sum.output_tokens += one.output_tokens;
    sum.preemptions += one.preemptions;
    sum.accepted_guesses += one.accepted_guesses;
    sum.rejected_guesses += one.rejected_guesses;
    sum.prefix_lookups += one.prefix_lookups;
    sum.prefix_hits += one.prefix_hits;
    sum.prefix_tokens += one.prefix_tokens;
    sum.prefix_evictions += one.prefix_evictions;
    sum.prefix_pages += one.prefix_pages;
    sum.host_pages += one.host_pages;
    sum.file_pages += one.file_pages;
    sum.finished += one.finished;
    sum.first_token_median = std::max(sum.first_token_median, one.first_token_median);
  }
  return sum;
}

std::vector<RowHolder> ModelHost::rows() const {
  std::vector<RowHolder> all;
  const std::scoped_lock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (!slot.running) continue;
    const std::vector<RowHolder> rows = slot.running->port->rows();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

std::shared_ptr<const ServedModel> ModelHost::model() const {
  return models()->models.front().model;
}

std::shared_ptr<const ModelList> ModelHost::models() const {
  const std::scoped_lock lock(mutex_);
  return list_;
}

bool ModelHost::ready() const noexcept {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(slots_, [](const Slot& slot) {
    if (slot.state == ModelState::kFailed) return false;
    return slot.state != ModelState::kLoaded || slot.running->port->ready();
  });
}

bool ModelHost::full() const noexcept {
  const std::scoped_lock lock(mutex_);
  bool some = false;
  for (const Slot& slot : slots_) {
    const bool leaves = slot.state == ModelState::kUnloaded || slot.state == ModelState::kUnloading;
    if (slot.state == ModelState::kLoading || (leaves && may_load_on_demand())) return false;
    if (slot.state != ModelState::kLoaded) continue;
    if (!slot.running->port->full()) return false;
    some = true;
  }
  return some;
}

}  // namespace weft
