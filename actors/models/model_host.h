#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/actors/models/model_list.h"
#include "weft/actors/pipeline.h"
#include "weft/actors/request/request_port.h"
#include "weft/config/models_config.h"
#include "weft/core/gate.h"
#include "weft/core/ids.h"
#include "weft/core/metrics.h"
#include "weft/core/time/clock.h"

namespace weft {

class DeviceMemory;
class DeviceTurns;
struct ModelUse;

/// Options of an engine of several models, besides their configuration.
struct ModelHostOptions {
  ModelHostOptions() = default;  // no aggregate: docs/asio-compliance.md says why

  /// Makes a model's pipeline and blocks meanwhile; throws what Pipeline's constructors throw.
  using MakeModel = std::function<std::unique_ptr<RequestPort>(
      boost::asio::any_io_executor executor, const Config& config, const PipelineOptions& options)>;

  /// The options of every model's pipeline. The host sets `model` and, for models that share a
  /// device, `memory_budget` and `before_device`. `progress.stop` ends the constructor half-way.
  /// All models share the metrics and the clock.
  PipelineOptions pipeline{};
  /// Empty: makes a Pipeline that loads the model.
  MakeModel make{};
  /// Called after a model was loaded or unloaded, failed or was lost, with the number of loaded
  /// models. It runs on a thread of the host or within its constructor, and must not call the host;
  /// its exceptions are dropped.
  std::function<void(const ModelInfo& model, std::size_t loaded)> on_change{};
  /// Whether the host has a thread that loads and destroys models. Otherwise its owner calls
  /// run_one_job(), so that a test can play everything on one thread.
  bool own_thread = true;
};

/// Several models behind one port, each with a pipeline that is made and destroyed while others
/// serve. A pipeline chooses among replicas of a model by load; the host chooses among pipelines by
/// the model's name in the request.
///
/// A request holds its model from submit() to its end. A model that is being unloaded takes no more
/// requests, and its pipeline is destroyed after its last request. One thread of the host loads and
/// destroys models, one at a time, so that no other thread waits. Its queue is bounded, since each
/// model waits at most once for each kind of job.
///
/// Models on one device share its memory (MemoryBudget) and its time (DeviceTurns).
class ModelHost final : public RequestPort {
 public:
  /// Loads the models configured to load at the start, at most `max_loaded`, and blocks meanwhile.
  /// A failed model does not fail the others. Throws boost::system::system_error with
  /// ModelsConfig::validate()'s error, or the first model's if all fail; and as throw_if_stopped()
  /// once the options' stop is requested.
  ModelHost(boost::asio::any_io_executor executor, ModelsConfig config,
            ModelHostOptions options = {});
  ~ModelHost() override;

  [[nodiscard]] std::shared_ptr<ActiveRequest> make_request(
      Request request, std::shared_ptr<RequestSink> sink) override;
  void submit(RequestTicket ticket) noexcept override;
  void stop(std::function<void()> stopped) noexcept override;
  /// The sums over all loaded models; of context and time to the first token the maximum.
  [[nodiscard]] EngineStats stats() const override;
  /// The rows of all loaded models, one model after the other.
  [[nodiscard]] std::vector<RowHolder> rows() const override;
  [[nodiscard]] MetricsRegistry& metrics() const noexcept override { return *metrics_; }
  [[nodiscard]] std::shared_ptr<const ServedModel> model() const override;
  [[nodiscard]] std::shared_ptr<const ModelList> models() const override;
  void load_model(const std::string& name, ModelDone done) override;
  void unload_model(const std::string& name, ModelDone done) override;
  void change_adapter(AdapterChange change, ModelDone done) override;
  /// Trains the model of a host that has one alone.
  void train(const std::shared_ptr<TrainingState>& task, ModelDone done) override;
  [[nodiscard]] Result<void> can_train() const override;
  /// Whether any model serves, or may be loaded.
  [[nodiscard]] bool ready() const noexcept override;
  /// Whether every loaded model is full, and no other model would be loaded for a request.
  [[nodiscard]] bool full() const noexcept override;

  /// For a host without its own thread: loads or destroys the next model, and blocks
  /// meanwhile. Returns false if there is none, or if loading must wait for room. One caller
  /// at a time.
  bool run_one_job();

 private:
  struct Running;
  struct Slot;
  struct Hold;
  struct Job;
  struct NextState;
  struct Room;
  /// Counts pipelines that stop, and calls a function after the last one.
  class StopCount;

  [[nodiscard]] Result<RequestPort*> trained_port(Gate::Holder& mine) const;

  // Called under mutex_.
  [[nodiscard]] Slot* find(std::string_view name) noexcept;
  [[nodiscard]] std::shared_ptr<Hold> hold(Slot& slot, RequestClass cls);
  [[nodiscard]] bool may_load_on_demand() const noexcept { return config_.max_loaded > 0; }
  void change(const std::string& name, ModelDone done, ModelState wanted);
  [[nodiscard]] static std::optional<Result<void>> answer_to_load(const Slot& slot);
  [[nodiscard]] std::optional<Result<void>> answer_to_unload(Slot& slot);
  void begin_load(Slot& slot);
  void add_job(Job job) noexcept;
  [[nodiscard]] std::shared_ptr<ModelList> list() const;
  void publish() { list_ = list(); }
  [[nodiscard]] NextState next_state(const Slot& slot, ModelState state, Error failure) const;
  void enter(Slot& slot, NextState next) noexcept;
  void set_state(Slot& slot, ModelState state, Error failure = {});
  [[nodiscard]] std::size_t loaded_count() const noexcept;
  [[nodiscard]] Room make_room();
  [[nodiscard]] static ModelInfo info_of(const Slot& slot);

  [[nodiscard]] std::optional<Error> wait_or_refuse(Slot& slot, RequestTicket& ticket);
  [[nodiscard]] Gate::Holder close(Slot& slot, ModelState state, Error failure = {});

  // On the host's own thread, or in the constructor.
  void work();
  bool run(Job& job);
  void give_up(Slot& slot) noexcept;
  bool load(Slot& slot);
  [[nodiscard]] Result<std::unique_ptr<Running>> make(Slot& slot);
  [[nodiscard]] PipelineOptions options_for(Slot& slot, Config& config,
                                            const std::shared_ptr<ModelUse>& use);
  void finish_load(Slot& slot, Result<std::unique_ptr<Running>> loaded);
  void unload(Slot& slot);
  void finish_unload(Slot& slot);
  void lose(Slot& slot, const std::string& why);
  void submit_again(RequestTicket ticket, const Error& problem);
  void end_waiting();
  void tell(const ModelInfo& model, std::size_t loaded) const;
  void refuse_all();

  const boost::asio::any_io_executor executor_;
  const ModelsConfig config_;
  const ModelHostOptions options_;
  const std::shared_ptr<MetricsRegistry> metrics_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<StopCount> stop_count_;
  IdSource<RequestKind> ids_;
  const std::unique_ptr<DeviceMemory> memory_;                 // the own thread's
  std::map<std::string, std::shared_ptr<DeviceTurns>> turns_;  // by device; the own thread's
  std::stop_source stop_;

  mutable std::mutex mutex_;  // guards the rest; never held while a model is made or destroyed
  std::shared_ptr<const ModelList> list_;
  std::vector<Job> jobs_;  // the first may be running; reserved for all that can wait
  std::uint64_t uses_ = 0;
  std::condition_variable has_work_;
  // One for each model, in order; only their contents change. Declared last, because destroying
  // them uses the members above.
  std::deque<Slot> slots_;
  std::thread thread_;
};

}  // namespace weft
