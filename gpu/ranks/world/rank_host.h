#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// The head's connections to the processes with the other ranks: the control plane between
/// processes. One thread receives their messages and sends the heartbeats. A process whose
/// connection ends, or that is silent for the world's timeout, is lost; then all processes are
/// lost.
class RankHost : public std::enable_shared_from_this<RankHost> {
 public:
  /// Waits for all processes, for each as long as the world's `gathering`, or until a stop is
  /// requested. kRankLost; errors of check_rank_key().
  [[nodiscard]] static Result<std::shared_ptr<RankHost>> gather(const RankWorld& world,
                                                                const std::stop_token& stop = {});

  RankHost(const RankHost&) = delete;
  RankHost& operator=(const RankHost&) = delete;
  /// Tells the other processes that the world ends.
  ~RankHost();

  /// Asks each process for its resources. Questions and answers are by process, without the head's.
  /// kRankLost naming the rank and the reason.
  [[nodiscard]] Result<std::vector<RankRoom>> ask(const std::vector<RankQuestion>& questions);
  /// Sends process `number` its setup.
  [[nodiscard]] Result<void> set_up(std::int32_t number, const RankSetup& setup);
  /// From now on a lost process is noticed, even while it or this process loads. `on_lost` is
  /// called once, by a thread of this object or by the thread that calls abandon().
  void watch_over(std::function<void()> on_lost);
  /// Waits until every process has loaded. kRankLost.
  [[nodiscard]] Result<void> wait_until_ready();
  /// Returns why processes were lost; none while all are there.
  [[nodiscard]] std::optional<Error> loss();

  /// Returns the rank of a process as a device, which keeps this object alive.
  [[nodiscard]] std::unique_ptr<StepDevice> device(std::int32_t number, const DeviceLimits& limits);

  /// Implements StepDevice::watch() for its devices; the last function counts.
  void tell_of_loss(std::function<void(const std::string& why)> tell);

  /// Says goodbye to all processes and ends all waits for them. Any thread.
  void dismiss(const std::string& why) noexcept;
  /// Ends all processes. Any thread.
  void abandon(const std::string& why) noexcept;

 private:
  class RemoteRank;
  struct Process {
    std::unique_ptr<RankSocket> socket;
    std::unique_ptr<RankDrum> drum;
    std::chrono::steady_clock::time_point heard;
    bool ready = false;
    std::uint64_t done = 0;  // finished plans
    Duration took{};         // time of the last plan
  };

  explicit RankHost(const RankWorld& world) : world_(world) {}
  void watch(const std::stop_token& stop);
  [[nodiscard]] Result<void> hear(Process& process);
  [[nodiscard]] Result<void> hear(Process& process, const RankFrame& frame);
  [[nodiscard]] Process& process(std::int32_t number) {
    return processes_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] Result<RankRoom> hear_room(Process& process);
  [[nodiscard]] bool are_ready() const;
  [[nodiscard]] std::string name_of(const Process& process) const;

  const RankWorld world_;
  std::vector<Process> processes_;  // the head's own entry is empty
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> lost_;
  std::function<void()> on_lost_;
  std::function<void(const std::string& why)> watcher_of_device_;  // called under `telling_`
  std::mutex telling_;
  std::jthread watcher_;
};

}  // namespace weft
