#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/tests/fixture/deterministic_system.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/fixture/fake_ranks.h"
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
  /// Pages go to files, and the model goes now and then and comes back; not with ranks. Files are
  /// read beside the play, so it is not the same a second time.
  bool files = false;
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

  /// Plays one event: an arrival, a cancel, time that passes, a failure, or most often a message.
  void step();
  /// Runs until every request has ended; then checks that nothing is left behind.
  void settle();

  [[nodiscard]] std::size_t requests() const noexcept { return sinks_.size(); }
  [[nodiscard]] std::size_t completed() const noexcept { return completed_; }
  [[nodiscard]] std::size_t failed_allocations() const noexcept { return failed_allocations_; }
  /// How many engines were lost with a rank.
  [[nodiscard]] std::size_t lost_engines() const noexcept { return lost_engines_; }
  /// How many pages came back from files.
  [[nodiscard]] std::uint64_t pages_read() const;
  /// A hash of all that has come out: two plays of a seed have the same.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
  /// How many tokens need not be computed; of the newest scheduler.
  [[nodiscard]] std::uint64_t tokens_found() const { return pipeline_->stats().prefix_tokens; }
  [[nodiscard]] std::uint64_t preemptions() const { return pipeline_->stats().preemptions; }

 private:
  class Sink;

  std::uint64_t random(std::uint64_t below) { return random_() % below; }
  bool chance(double probability) {
    return std::uniform_real_distribution<double>()(random_) < probability;
  }
  void make_config();
  void make_pipeline();
  DeviceRanks make_devices();
  [[nodiscard]] bool can_take(ActorId to) const;
  void fail_something();
  void replace_lost_engine();
  void reload();
  void advance(Duration time);
  Request random_request();
  void arrive();
  void end_one();
  bool deliver();
  void fail_one_allocation();
  void note(std::uint64_t value) noexcept;
  void check(Sink& sink);

  const SimulationOptions options_;
  std::mt19937_64 random_;
  DeterministicSystem system_;
  Config config_;
  DeviceLimits limits_;
  std::shared_ptr<FakeRanks> ranks_;  // null where one device is all stages
  std::optional<TempFolder> folder_;  // of files
  std::shared_ptr<PageFiles> files_;
  std::uint64_t pages_read_before_ = 0;  // since the model came back
  bool device_fails_ = false;
  bool actor_fails_ = false;
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<std::shared_ptr<Sink>> sinks_;
  std::vector<std::shared_ptr<Sink>> open_;
  std::size_t completed_ = 0;
  std::size_t failures_ = 0;
  std::size_t lost_engines_ = 0;
  std::size_t failed_allocations_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace weft::test
