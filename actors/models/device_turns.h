#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "weft/actors/models/turn_order.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/forwarding_device.h"

namespace weft {

/// One device's time, which the executors of several models share: a step at a time, in the order
/// of TurnOrder. An executor that asks waits on its own thread until those before it are done: at
/// most one step of each other model, but for batch, which waits for chat as long as there is any.
/// Thread-safe.
class DeviceTurns : public std::enable_shared_from_this<DeviceTurns> {
 public:
  class SharedDevice;

  /// Steps are timed by `clock`, where the device does not say how long they took.
  explicit DeviceTurns(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}
  DeviceTurns(const DeviceTurns&) = delete;
  DeviceTurns& operator=(const DeviceTurns&) = delete;
  ~DeviceTurns() = default;

  /// Returns `device` as one that runs its steps in turn with others that were made of the same
  /// device. `share` is positive.
  [[nodiscard]] std::shared_ptr<SharedDevice> share(std::shared_ptr<StepDevice> device,
                                                    double share,
                                                    std::shared_ptr<const ModelUse> use);

 private:
  class Turn;

  void take(std::size_t member);
  void give_back(std::size_t member, Duration took) noexcept;

  const std::shared_ptr<const Clock> clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  TurnOrder order_;
  bool busy_ = false;
};

/// A model's part of a device. run() waits for the model's turn. Where all models run on one thread
/// nobody else could have a step meanwhile: whoever plays them says who asks, and runs who has the
/// turn.
class DeviceTurns::SharedDevice final : public ForwardingDevice {
 public:
  SharedDevice(std::shared_ptr<DeviceTurns> turns, std::size_t member,
               std::shared_ptr<StepDevice> device);
  ~SharedDevice() override;

  /// Asks for the next turn before run() does, or asks no more.
  void ask(bool asks);
  /// Whether run() would begin at once.
  [[nodiscard]] bool has_turn() const;

  void run(const Plan& plan, StepResult& result) override;

 private:
  const std::shared_ptr<DeviceTurns> turns_;
  const std::size_t member_;
};

}  // namespace weft
