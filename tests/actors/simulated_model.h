#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/models/device_turns.h"
#include "weft/config/config.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/tests/actors/simulated_request.h"
#include "weft/tests/fixture/fake_device.h"
#include "weft/tests/fixture/fake_ranks.h"

namespace weft::test {

/// A model of a simulation: how it is configured, by chance, and its fake devices, which come and
/// go. Its pages are marked by whose they are, so that a row which reads a page of another model,
/// key or salt chooses other tokens.
class SimulatedModel {
 public:
  struct Options {
    std::int32_t number = 0;  ///< among the models
    std::int32_t stages = 1;
    std::size_t ranks = 0;                          ///< of each stage; 0: one device is all of them
    bool encoder = false;                           ///< which reads the prompt
    bool windows = false;                           ///< of all layers; not with an encoder
    bool places = false;                            ///< in host memory, for sure
    bool pages_only = false;                        ///< no slabs
    bool state = false;                             ///< rows have some; not with an encoder
    bool adapters = false;                          ///< it has places for one to three
    std::int32_t guesses = 0;                       ///< that its device makes, at most
    std::optional<std::filesystem::path> folder{};  ///< of files with its pages
  };

  SimulatedModel(const Options& options, std::mt19937_64& random);

  /// The model that the actors serve.
  [[nodiscard]] ServedModel served() const;
  /// Makes its devices anew. `run` is called in each step.
  [[nodiscard]] DeviceRanks make_devices(const std::function<void()>& run);
  /// The same, with as many pages as the memory that it may take has room for. Throws
  /// boost::system::system_error where that is less than one request needs.
  [[nodiscard]] DeviceRanks make_devices(const std::function<void()>& run, MemoryBudget& budget,
                                         std::int64_t most_bytes);
  /// Tells it whose pages the request's are, and the content of its adapter, before it is
  /// submitted.
  void know(const Request& request, std::uint64_t adapter);
  /// The adapter of a request that it was told of; null: none.
  [[nodiscard]] std::shared_ptr<const PreparedAdapter> adapter_of(const Request& request) const;

  [[nodiscard]] const DeviceLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] FakeModel fake() const noexcept {
    return {weights_, limits_.context, limits_.window, options_.encoder, options_.state};
  }
  [[nodiscard]] std::size_t least_bytes() const noexcept;
  /// How many pages came back from files.
  [[nodiscard]] std::uint64_t pages_read() const;

  /// Counts of guesses: entries with guesses, entries whose start the host did not know, entries
  /// for which a draft model might guess, and guesses that were made and that were right.
  struct Guesses {
    std::uint64_t entries = 0;
    std::uint64_t unsure = 0;
    std::uint64_t drafts = 0;
    std::uint64_t made = 0;
    std::uint64_t right = 0;
  };

  /// How many snapshots of rows' states its plans made and restored, and how many of the latter
  /// were in host memory.
  struct States {
    std::uint64_t kept = 0;
    std::uint64_t restored = 0;
    std::uint64_t from_host = 0;
  };

  const std::string name;
  Config config;
  Guesses guesses;
  States states;
  std::uint64_t adapter_loads = 0;                 ///< in plans that ran
  std::shared_ptr<FakeRanks> ranks;                ///< null where one device is all stages
  std::weak_ptr<PageFiles> files;                  ///< while the model is there, if it has some
  std::weak_ptr<DeviceTurns::SharedDevice> turns;  ///< where other models have its device too
  bool loaded = false;                             ///< by a host
  std::optional<std::size_t> system;  ///< of its newest actors (DeterministicSystem::Receiver)

 private:
  void count(const Plan& plan);
  [[nodiscard]] FakeDevice::Options device_options(const std::function<void()>& run);
  [[nodiscard]] DeviceRanks finish_devices(FakeDevice::Options device, MemoryClaim claim);

  const Options options_;
  DeviceLimits limits_;
  const std::uint64_t weights_;
  std::mt19937_64 acceptance_;                               // which guesses are right
  std::unordered_map<std::uint64_t, std::int32_t> domains_;  // by seed
  std::unordered_map<std::uint64_t, std::shared_ptr<const PreparedAdapter>> adapters_;  // the same
  std::mt19937_64 copying_;  // how long adapters are copied
  // Pages read by devices that no longer exist.
  std::shared_ptr<std::uint64_t> pages_read_before_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace weft::test
