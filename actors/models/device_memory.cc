#include "weft/actors/models/device_memory.h"

#include <algorithm>

#include "weft/config/replicas_text.h"
#include "weft/gpu/device_info.h"

namespace weft {
namespace {

std::int64_t free_bytes_of(const std::string& device) {
  if (device == "cpu") return static_cast<std::int64_t>(host_info().free_bytes);
  const auto devices = list_devices();
  if (!devices) return 0;
  const auto found = std::ranges::find(*devices, device, &DeviceInfo::name);
  return found == devices->end() ? 0 : static_cast<std::int64_t>(found->free_bytes);
}

}  // namespace

std::string shared_device_of(const Config& config) {
  if (config.policy == BatchPolicy::kInstances || !config.partition.empty()) return {};
  const auto devices = replica_devices(config);
  if (!devices || devices->size() != 1) return {};
  // A list of one may be a partition.
  const std::string& device = devices->front();
  return device.find_first_of(",|") == std::string::npos && device != "auto" ? device : "";
}

DeviceMemory::DeviceMemory(const ModelsConfig& all)
    : fraction_(all.memory_fraction),
      bytes_(all.memory_bytes),
      alone_(all.models.size() == 1),
      max_loaded_(all.max_loaded) {
  for (const ModelConfig& model : all.models) {
    const std::string device = shared_device_of(model.config);
    if (!device.empty()) ++models_[device];
  }
}

bool DeviceMemory::is_shared(const std::string& device) const {
  const auto found = models_.find(device);
  return found != models_.end() && found->second > 1 && max_loaded_ != 1;
}

std::int64_t DeviceMemory::most_of(const std::string& device) const {
  const std::int64_t free = free_bytes_of(device);
  if (bytes_ > 0) return std::min(bytes_, free);
  return static_cast<std::int64_t>(fraction_ * static_cast<double>(free));
}

std::shared_ptr<MemoryBudget> DeviceMemory::fit(const ModelConfig& model, Config& config) {
  const std::string device = shared_device_of(config);
  if (alone_ || device.empty()) return nullptr;
  std::shared_ptr<MemoryBudget>& budget = budgets_[device];
  if (budget == nullptr) {
    const std::int64_t most = most_of(device);
    if (most <= 0) return nullptr;
    budget = MemoryBudget::make(most);
  }
  const std::int32_t models = models_[device];
  const std::int32_t parts = max_loaded_ > 0 ? std::min(models, max_loaded_) : models;
  if (!model.has_memory) {
    config.memory_bytes = budget->bytes() / parts;
  } else if (config.memory_bytes == 0) {
    config.memory_bytes =
        static_cast<std::int64_t>(config.memory_fraction * static_cast<double>(budget->bytes()));
  }
  return budget;
}

}  // namespace weft
