#include "weft/actors/models/device_turns.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace weft {
namespace {

TimePoint steady_now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace

/// A model's turn, from when it has the device to when it gives it back, whatever a step throws.
class DeviceTurns::Turn {
 public:
  Turn(DeviceTurns& turns, std::size_t member) : turns_(turns), member_(member) {
    turns_.take(member_);
    began_ = steady_now();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { turns_.give_back(member_, took()); }

  [[nodiscard]] Duration took() const noexcept { return steady_now() - began_; }

 private:
  DeviceTurns& turns_;
  const std::size_t member_;
  TimePoint began_;
};

class DeviceTurns::SharedDevice final : public StepDevice {
 public:
  SharedDevice(std::shared_ptr<DeviceTurns> turns, std::size_t member,
               std::shared_ptr<StepDevice> device)
      : turns_(std::move(turns)), member_(member), device_(std::move(device)) {}
  ~SharedDevice() override {
    const std::scoped_lock lock(turns_->mutex_);
    turns_->order_.remove(member_);
  }

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_->limits(); }
  void run(const Plan& plan, StepResult& result) override {
    const Turn turn(*turns_, member_);
    device_->run(plan, result);
    // What it waited for its turn is no time of the step's.
    if (result.took == Duration{}) result.took = turn.took();
  }
  [[nodiscard]] bool samples() const noexcept override { return device_->samples(); }
  void abandon() noexcept override { device_->abandon(); }
  void watch(std::function<void(const std::string& why)> tell) override {
    device_->watch(std::move(tell));
  }

 private:
  const std::shared_ptr<DeviceTurns> turns_;
  const std::size_t member_;
  const std::shared_ptr<StepDevice> device_;
};

std::shared_ptr<StepDevice> DeviceTurns::share(std::shared_ptr<StepDevice> device, double share,
                                               std::shared_ptr<const ModelUse> use) {
  std::size_t member = 0;
  {
    const std::scoped_lock lock(mutex_);
    member = order_.add(share, std::move(use));
  }
  return std::make_shared<SharedDevice>(shared_from_this(), member, std::move(device));
}

void DeviceTurns::take(std::size_t member) {
  std::unique_lock lock(mutex_);
  order_.want(member);
  changed_.notify_all();  // for whoever waits for this one's coming
  while (true) {
    if (busy_) {
      changed_.wait(lock);
      continue;
    }
    const TimePoint now = steady_now();
    const TurnOrder::Choice choice = order_.choose(now);
    if (choice.member == member) break;
    // Requests come and go without the lock, so the one that is chosen may have chosen this one
    // before, and waits.
    changed_.wait_until(lock, choice.again.value_or(now + TurnOrder::kGrace));
  }
  busy_ = true;
  order_.begin(member);
}

void DeviceTurns::give_back(std::size_t member, Duration took) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    busy_ = false;
    order_.end(member, steady_now(), took);
  }
  changed_.notify_all();
}

}  // namespace weft
