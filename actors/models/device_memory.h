#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/config/models_config.h"
#include "weft/gpu/memory/memory_budget.h"

namespace weft {

/// Returns the device, such as "cpu", that a model may share with other models; "" for a model
/// with a partition, replicas or instances, which shares neither memory nor time.
[[nodiscard]] std::string shared_device_of(const Config& config);

/// Divides each device's memory among the models of one engine. Owner only.
class DeviceMemory {
 public:
  explicit DeviceMemory(const ModelsConfig& all);

  /// With several models, sets how much of its device's memory a model takes, and returns the
  /// budget that it is taken from. Returns null and sets nothing if shared_device_of() is "". A
  /// device is measured with its first model. A missing device has no budget; loading reports
  /// it.
  [[nodiscard]] std::shared_ptr<MemoryBudget> fit(const ModelConfig& model, Config& config);

  /// Whether two models or more may run on the device.
  [[nodiscard]] bool is_shared(const std::string& device) const;

 private:
  [[nodiscard]] std::int64_t most_of(const std::string& device) const;

  const double fraction_;
  const std::int64_t bytes_;
  const bool alone_;  ///< there is one model
  const std::int32_t max_loaded_;
  std::map<std::string, std::int32_t> models_;  ///< how many there are, by device
  std::map<std::string, std::shared_ptr<MemoryBudget>> budgets_;
};

}  // namespace weft
