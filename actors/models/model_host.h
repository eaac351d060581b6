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

/// How an engine of several models is put together, besides their configuration.
struct ModelHostOptions {
  ModelHostOptions() = default;  // no aggregate: docs/asio-compliance.md says why

  /// Makes a model's pipeline, and blocks meanwhile; throws what Pipeline's constructors throw.
  using MakeModel = std::function<std::unique_ptr<RequestPort>(
      boost::asio::any_io_executor executor, const Config& config, const PipelineOptions& options)>;

  /// The options of every model's pipeline. The host sets `model` and, for models that share a
  /// device, `memory_budget` and `before_device`. `progress.stop` ends the constructor half-way.
  /// All models share the metrics and the clock.
  PipelineOptions pipeline{};
  /// Without: a Pipeline that loads the model.
  MakeModel make{};
  /// Hears of each model that was loaded or unloaded, failed or was lost, and how many are loaded
  /// then. Called on a thread of the host's, or within its constructor; it must not call the host,
  /// and what it throws is dropped.
  std::function<void(const ModelInfo& model, std::size_t loaded)> on_change{};
  /// Whether the host has a thread that loads and destroys models. Without, whoever made it calls
  /// run_one_job() for that: everything that happens can then be played on one thread.
  bool own_thread = true;
};

/// Several models behind one port: a pipeline each, which come and go while others serve. As a
/// pipeline has replicas of one model among which load decides, the host has pipelines of several
/// models among which the request's name decides.
///
/// A request holds its model from submit() to its end; a model that is to leave takes no more, and
/// its pipeline goes when the last of them has ended. Loading and destroying happen on one thread
/// of the host's own, one at a time, so that neither holds up anybody; how many wait for it is
/// bounded by the models, since each waits once.
///
/// Models on one device share its memory (MemoryBudget) and its time (DeviceTurns).
class ModelHost final : public RequestPort {
 public:
  /// Loads the models that are to be loaded at the start, as many as `max_loaded`, and blocks
  /// meanwhile. One that fails fails alone. Throws boost::system::system_error with
  /// ModelsConfig::validate()'s error, or the first model's when all of them fail; and as
  /// throw_if_stopped() once the stop of the options is requested.
  ModelHost(boost::asio::any_io_executor executor, ModelsConfig config,
            ModelHostOptions options = {});
  ~ModelHost() override;

  [[nodiscard]] std::shared_ptr<ActiveRequest> make_request(
      Request request, std::shared_ptr<RequestSink> sink) override;
  void submit(RequestTicket ticket) noexcept override;
  void stop(std::function<void()> stopped) noexcept override;
  /// The sums of all loaded models; context and time to the first token are the most of them.
  [[nodiscard]] EngineStats stats() const override;
  /// The rows of all loaded models, one model after the other.
  [[nodiscard]] std::vector<RowHolder> rows() const override;
  [[nodiscard]] MetricsRegistry& metrics() const noexcept override { return *metrics_; }
  [[nodiscard]] std::shared_ptr<const ServedModel> model() const override;
  [[nodiscard]] std::shared_ptr<const ModelList> models() const override;
  void load_model(const std::string& name, ModelDone done) override;
  void unload_model(const std::string& name, ModelDone done) override;
  /// Whether some model serves, or may be loaded.
  [[nodiscard]] bool ready() const noexcept override;
  /// Whether every loaded model is full, and no other one would be loaded for a request.
  [[nodiscard]] bool full() const noexcept override;

  /// Without a thread of its own: loads or destroys the model that is the next, and blocks
  /// meanwhile. Returns false where there is none, or where it has to wait for room. One caller at
  /// a time.
  bool run_one_job();

 private:
  struct Running;
  struct Slot;
  struct Hold;
  struct Job;
  struct NextState;
  struct Room;
  /// Calls who waits for the stop, when the last of those that it counts has stopped.
  class StopCount;

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

  mutable std::mutex mutex_;  // guards what follows; never held while a model is made or destroyed
  std::shared_ptr<const ModelList> list_;
  std::vector<Job> jobs_;  // the front one may be under way; has room for all that can wait
  std::uint64_t uses_ = 0;
  std::condition_variable has_work_;
  // One for each model, in order; constant but for what is in them. What goes with them tells the
  // members above.
  std::deque<Slot> slots_;
  std::thread thread_;
};

}  // namespace weft
