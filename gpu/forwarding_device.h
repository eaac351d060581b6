#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "weft/gpu/step_device.h"

namespace weft {

/// Forwards every call to another device. It is the base of devices that stand before another
/// device and change or record some calls. A subclass overrides these calls and passes them on to
/// device(). Threads and errors are as for the other device.
class ForwardingDevice : public StepDevice {
 public:
  /// `device` is not null.
  explicit ForwardingDevice(std::shared_ptr<StepDevice> device) : device_(std::move(device)) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_->limits(); }
  void run(const Plan& plan, StepResult& result) override { device_->run(plan, result); }
  [[nodiscard]] bool samples() const noexcept override { return device_->samples(); }
  void abandon() noexcept override { device_->abandon(); }
  [[nodiscard]] Result<std::shared_ptr<const DeviceAdapter>> prepare_adapter(
      const Adapter& adapter) const override {
    return device_->prepare_adapter(adapter);
  }
  [[nodiscard]] bool lets_train() const noexcept override { return device_->lets_train(); }
  [[nodiscard]] std::shared_ptr<PageFiles> page_files() const override {
    return device_->page_files();
  }
  void watch(std::function<void(const std::string& why)> tell) override {
    device_->watch(std::move(tell));
  }

 protected:
  [[nodiscard]] StepDevice& device() const noexcept { return *device_; }

 private:
  const std::shared_ptr<StepDevice> device_;
};

}  // namespace weft
