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
#include "weft/gpu/step_device.h"

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
class DeviceTurns::SharedDevice final : public StepDevice {
 public:
  SharedDevice(std::shared_ptr<DeviceTurns> turns, std::size_t member,
               std::shared_ptr<StepDevice> device);
  ~SharedDevice() override;

  /// Asks for the next turn before run() does, or asks no more.
  void ask(bool asks);
  /// Whether run() would begin at once.
  [[nodiscard]] bool has_turn() const;

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_->limits(); }
  void run(const Plan& plan, StepResult& result) override;
  [[nodiscard]] bool samples() const noexcept override { return device_->samples(); }
  void abandon() noexcept override { device_->abandon(); }
  [[nodiscard]] std::shared_ptr<PageFiles> page_files() const override {
    return device_->page_files();
  }
  void watch(std::function<void(const std::string& why)> tell) override {
    device_->watch(std::move(tell));
  }

 private:
  const std::shared_ptr<DeviceTurns> turns_;
  const std::size_t member_;
  const std::shared_ptr<StepDevice> device_;
};

}  // namespace weft
