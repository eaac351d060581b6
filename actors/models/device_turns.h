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

/// Divides one device's time among the executors of several models, a step at a time, in the
/// order of TurnOrder. An executor waits on its own thread for its turn: for at most one
/// step of each other model, except that batch waits as long as any model has chat.
/// Thread-safe.
class DeviceTurns : public std::enable_shared_from_this<DeviceTurns> {
 public:
  class SharedDevice;

  /// `clock` times the steps of devices that do not measure them.
  explicit DeviceTurns(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}
  DeviceTurns(const DeviceTurns&) = delete;
  DeviceTurns& operator=(const DeviceTurns&) = delete;
  ~DeviceTurns() = default;

  /// Returns `device` wrapped so that its steps take turns with other wrappers of the same device.
  /// `share` is positive.
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

/// A model's wrapper of a device; run() waits for the model's turn. A test that plays all models on
/// one thread cannot wait: it says with ask() which models ask, and runs the model that
/// has_turn().
class DeviceTurns::SharedDevice final : public ForwardingDevice {
 public:
  SharedDevice(std::shared_ptr<DeviceTurns> turns, std::size_t member,
               std::shared_ptr<StepDevice> device);
  ~SharedDevice() override;

  /// Asks for the next turn ahead of run(), or withdraws.
  void ask(bool asks);
  /// Whether run() would begin at once.
  [[nodiscard]] bool has_turn() const;

  void run(const Plan& plan, StepResult& result) override;

 private:
  const std::shared_ptr<DeviceTurns> turns_;
  const std::size_t member_;
};

}  // namespace weft
