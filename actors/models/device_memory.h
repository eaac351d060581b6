#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/config/models_config.h"
#include "weft/gpu/memory/memory_budget.h"

namespace weft {

/// Returns the one device that a model runs on alone or beside others, such as "cpu"; "" for a
/// model that is cut, or has replicas or instances: it takes memory and time for itself.
[[nodiscard]] std::string shared_device_of(const Config& config);

/// What the models of one engine may take of each device's memory. Owner only.
class DeviceMemory {
 public:
  explicit DeviceMemory(const ModelsConfig& all);

  /// Sets how much of its device a model takes, where there are several models, and returns what
  /// that is taken from; null, and nothing is set, where shared_device_of() has none. A device is
  /// measured with its first model. A device that is not there has no budget either: loading says
  /// so.
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
