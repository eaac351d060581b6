#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "weft/actors/models/turn_order.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// One device's time, which the executors of several models share: a step at a time, in the order
/// of TurnOrder. An executor that asks waits on its own thread until those before it are done: at
/// most one step of each other model, but for batch, which waits for chat as long as there is any.
/// Thread-safe.
class DeviceTurns : public std::enable_shared_from_this<DeviceTurns> {
 public:
  DeviceTurns() = default;
  DeviceTurns(const DeviceTurns&) = delete;
  DeviceTurns& operator=(const DeviceTurns&) = delete;
  ~DeviceTurns() = default;

  /// Returns `device` as one that runs its steps in turn with others that were made of the same
  /// device. `share` is positive.
  [[nodiscard]] std::shared_ptr<StepDevice> share(std::shared_ptr<StepDevice> device, double share,
                                                  std::shared_ptr<const ModelUse> use);

 private:
  class SharedDevice;
  class Turn;

  void take(std::size_t member);
  void give_back(std::size_t member, Duration took) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  TurnOrder order_;
  bool busy_ = false;
};

}  // namespace weft
