#include "weft/actors/models/device_turns.h"

namespace weft {

/// A model's turn: holds the device until the end of its step, also if the step throws.
class DeviceTurns::Turn {
 public:
  Turn(DeviceTurns& turns, std::size_t member, StepResult& result)
      : turns_(turns), member_(member), result_(result) {
    turns_.take(member_);
    began_ = turns_.clock_->now();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    // Excludes the time of waiting for the turn.
    if (result_.took == Duration{}) result_.took = turns_.clock_->now() - began_;
    turns_.give_back(member_, result_.took);
  }

 private:
  DeviceTurns& turns_;
  const std::size_t member_;
  StepResult& result_;
  TimePoint began_;
};

DeviceTurns::SharedDevice::SharedDevice(std::shared_ptr<DeviceTurns> turns, std::size_t member,
                                        std::shared_ptr<StepDevice> device)
    : ForwardingDevice(std::move(device)), turns_(std::move(turns)), member_(member) {}

DeviceTurns::SharedDevice::~SharedDevice() {
  const std::scoped_lock lock(turns_->mutex_);
  turns_->order_.remove(member_);
}

void DeviceTurns::SharedDevice::ask(bool asks) {
  const std::scoped_lock lock(turns_->mutex_);
  asks ? turns_->order_.want(member_) : turns_->order_.withdraw(member_);
}

bool DeviceTurns::SharedDevice::has_turn() const {
  const std::scoped_lock lock(turns_->mutex_);
  return !turns_->busy_ && turns_->order_.choose(turns_->clock_->now()).member == member_;
}

void DeviceTurns::SharedDevice::run(const Plan& plan, StepResult& result) {
  const Turn turn(*turns_, member_, result);
  device().run(plan, result);
}

std::shared_ptr<DeviceTurns::SharedDevice> DeviceTurns::share(std::shared_ptr<StepDevice> device,
                                                              double share,
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
  changed_.notify_all();  // wakes models that wait for this one to ask
  while (true) {
    if (busy_) {
      changed_.wait(lock);
      continue;
    }
    const TimePoint now = clock_->now();
    const TurnOrder::Choice choice = order_.choose(now);
    if (choice.member == member) break;
    // Requests come and go without the lock, so the chosen model may have chosen this one earlier
    // and may be waiting.
    changed_.wait_for(lock, choice.again.value_or(now + TurnOrder::kGrace) - now);
  }
  busy_ = true;
  order_.begin(member);
}

void DeviceTurns::give_back(std::size_t member, Duration took) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    busy_ = false;
    order_.end(member, clock_->now(), took);
  }
  changed_.notify_all();
}

}  // namespace weft
