#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "weft/actors/models/model_host.h"
#include "weft/actors/pipeline.h"
#include "weft/actors/training/training_task.h"
#include "weft/tests/actors/simulated_model.h"
#include "weft/tests/actors/simulated_request.h"
#include "weft/tests/fixture/deterministic_system.h"
#include "weft/tests/fixture/fake_training.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {

/// How a simulation's requests and failures are chosen from the seed.
struct SimulationOptions {
  std::uint64_t seed = 1;
  bool failures = true;      ///< of the device and of actors
  bool allocations = false;  ///< fail while actors handle messages, and the clock jumps
  std::int32_t stages = 1;   ///< ticks that run at once
  std::size_t ranks = 0;     ///< of each stage, each with an executor; 0: one device is all stages
  bool encoder = false;      ///< the model has one, which reads the prompt
  bool windows = false;      ///< all of the model's layers have a window; not with an encoder
  bool state = false;        ///< rows have some, as of recurrent layers; not with an encoder
  std::int32_t guesses = 0;  ///< that a device makes of a row, and verifies; random ones are right
  /// Most requests have an adapter, of names that get other contents now and then, and devices have
  /// places for few.
  bool adapters = false;
  bool places = false;  ///< each model has some in host memory, else each second one
  /// Pages go to files, and the model goes now and then and comes back; not with ranks. Files are
  /// read beside the play, so it is not the same a second time.
  bool files = false;
  /// Training tasks come, pause, fail and go. Neither with ranks nor with models.
  bool training = false;
  /// The number of models on one device, which share its memory and time, behind a ModelHost that
  /// loads and unloads them and makes them fail; 0: one model without a host. Not with ranks.
  std::int32_t models = 0;
};

/// The real actors over a fake device, a virtual clock and a wire that delivers in random order:
/// random arrivals, lengths, cancels, stops, deadlines and failures, with the scheduler's
/// invariants checked after each of its messages and every output compared with what the fake model
/// gives a request that runs alone. All of it follows from the seed. What is wrong is a GoogleTest
/// failure.
///
/// With ranks, one of them throws or hangs now and then, which ends the engine; once all its
/// requests have ended another takes its place.
class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation();

  /// Plays one event: an arrival, a cancel, time that passes, a failure, a model that is to come or
  /// go, or most often a message.
  void step();
  /// Runs until every request has ended; then checks that nothing is left behind.
  void settle();

  /// How many events were played: more than step() was called, where some were while a model was
  /// loaded.
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] std::size_t requests() const noexcept { return requests_.size(); }
  [[nodiscard]] std::size_t completed() const noexcept { return completed_; }
  [[nodiscard]] std::size_t failed_allocations() const noexcept { return failed_allocations_; }
  /// How many engines were lost with a rank.
  [[nodiscard]] std::size_t lost_engines() const noexcept { return lost_engines_; }
  /// How many pages came back from files.
  [[nodiscard]] std::uint64_t pages_read() const;
  /// Models that a host has loaded and unloaded, and that have failed.
  [[nodiscard]] std::size_t loads() const noexcept { return loads_; }
  [[nodiscard]] std::size_t unloads() const noexcept { return unloads_; }
  [[nodiscard]] std::size_t failed_models() const noexcept { return failed_models_; }
  /// How many tokens need not be computed; of the newest schedulers.
  [[nodiscard]] std::uint64_t tokens_found() const { return port_->stats().prefix_tokens; }
  /// How many requests found a path whose beginning was gone.
  [[nodiscard]] std::uint64_t hollow_hits() const noexcept { return hollow_hits_; }
  /// The counts of rows' states.
  [[nodiscard]] SimulatedModel::States states() const;
  /// How many adapters were put into places.
  [[nodiscard]] std::uint64_t adapter_loads() const;
  /// The counts of guesses.
  [[nodiscard]] SimulatedModel::Guesses guesses() const;
  /// What became of training tasks, over all schedulers.
  struct Training {
    std::size_t tasks = 0;
    std::size_t done = 0;
    std::size_t failed = 0;
    std::size_t cancelled = 0;
    std::size_t paused = 0;
    std::uint64_t pieces = 0;
    std::uint64_t beside = 0;    ///< pieces while some row was in use
    std::uint64_t deferred = 0;  ///< pieces while a request waited that had never begun
  };
  [[nodiscard]] const Training& training() const noexcept { return training_; }
  /// A hash of all that has come out: two plays of a seed have the same.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

 private:
  std::uint64_t random(std::uint64_t below) { return random_() % below; }
  bool chance(double probability) {
    return std::uniform_real_distribution<double>()(random_) < probability;
  }

  // How it is put together.
  void make_models();
  [[nodiscard]] PipelineOptions pipeline_options();
  void make_pipeline();
  void make_host();
  [[nodiscard]] ModelsConfig host_config();
  [[nodiscard]] std::unique_ptr<RequestPort> make_model(const Config& config,
                                                        const PipelineOptions& options);
  void hear_of(const ModelInfo& info);
  void fail_step();

  // Events.
  void arrive();
  [[nodiscard]] Request random_request();
  [[nodiscard]] std::uint64_t random_adapter();
  void end_one();
  void advance(Duration time);
  void fail_something();
  void fail_one_allocation();
  void replace_lost_engine();
  void reload();
  void change_a_model();
  bool work();
  bool deliver();
  void change_training();
  void begin_training();
  Result<void> train_piece(Duration took);
  void end_training(const Result<void>& result);
  void watch_training(const Scheduler& scheduler);
  [[nodiscard]] bool can_take(const DeterministicSystem::Receiver& to) const;
  void let_models_ask();

  [[nodiscard]] SimulatedModel* model_of(const Request& request);
  void check(SimulatedRequest& request);
  void check_error(const SimulatedRequest& request, const SimulatedModel& model) const;
  [[nodiscard]] bool is_of_models(const Error& error) const;
  void note(std::uint64_t value) noexcept;

  const SimulationOptions options_;
  std::mt19937_64 random_;
  DeterministicSystem system_;
  std::optional<TempFolder> folder_;  // of files
  std::int32_t max_loaded_ = 0;
  std::deque<SimulatedModel> models_;     // the only one, or those of the host
  std::shared_ptr<MemoryBudget> budget_;  // of the host's models
  std::unique_ptr<RequestPort> port_;
  ModelHost* host_ = nullptr;  // it is the port, where there are several models
  bool loading_ = false;
  bool device_fails_ = false;
  bool actor_fails_ = false;
  bool model_is_lost_ = false;
  bool load_fails_ = false;
  std::vector<std::shared_ptr<SimulatedRequest>> requests_;
  std::vector<std::shared_ptr<SimulatedRequest>> open_;
  std::size_t changes_ = 0;  // unanswered loads and unloads of models
  std::uint64_t events_ = 0;
  std::size_t completed_ = 0;
  std::size_t failures_ = 0;
  std::size_t lost_engines_ = 0;
  std::size_t failed_allocations_ = 0;
  std::size_t loads_ = 0;
  std::size_t unloads_ = 0;
  std::size_t failed_models_ = 0;
  std::uint64_t hollow_hits_ = 0;
  std::array<std::uint64_t, 6> contents_{};  // of adapters, by their names
  std::uint64_t newest_content_ = 0;
  Training training_;
  std::shared_ptr<FakeTraining> work_;  // of the newest task
  std::optional<TrainingTask> task_;    // none: it has ended
  bool is_paused_ = false;
  bool is_cancelled_ = false;
  bool training_fails_ = false;
  std::optional<TimePoint> oldest_wait_;  // of the scheduler's last message
  std::size_t rows_in_use_ = 0;           // the same
  std::uint64_t digest_ = 0;
};

}  // namespace weft::test
