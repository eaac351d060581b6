#include "weft/gpu/host/host_weight_pool.h"

#include <algorithm>

namespace weft {

std::shared_ptr<const HostWeightPool::Entry> HostWeightPool::find(const Program& program) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(&program);
  return found == entries_.end() ? nullptr : found->second.lock();
}

bool HostWeightPool::has_any() const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(entries_, [](const auto& one) { return !one.second.expired(); });
}

std::shared_ptr<const HostWeightPool::Entry> HostWeightPool::add(
    const Program& program, std::shared_ptr<const HostWeights> weights, MemoryClaim claim) {
  auto entry = std::make_shared<const Entry>(std::move(weights), std::move(claim));
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [](const auto& one) { return one.second.expired(); });
  entries_.insert_or_assign(&program, entry);
  return entry;
}

}  // namespace weft
