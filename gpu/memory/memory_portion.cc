#include "weft/gpu/memory/memory_portion.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "weft/gpu/device_error.h"

namespace weft {

Result<MemoryPortion> take_portion(const Program& program, const DeviceWishes& wishes,
                                   const CapacityWishes& capacity, std::int64_t free_bytes,
                                   const DeviceNeeds& needs, std::int64_t apart) {
  MemoryPortion portion;
  const auto take = [&](std::int64_t most) -> Result<std::int64_t> {
    const auto limits = device_capacity(program, capacity, std::min(most, free_bytes), needs);
    if (!limits) return limits.error();
    portion.limits = *limits;
    return needs.bytes(*limits) - apart;
  };
  if (!wishes.budget) {
    const auto taken = take(std::numeric_limits<std::int64_t>::max());
    if (!taken) return taken.error();
    return portion;
  }
  auto claim = wishes.budget->take(take);
  if (!claim) {
    return Error{claim.error().code, "memory budget: " + claim.error().detail};
  }
  portion.claim = std::make_shared<MemoryClaim>(*std::move(claim));
  return portion;
}

std::shared_ptr<StepDevice> with_claim(std::unique_ptr<StepDevice> device,
                                       const std::shared_ptr<const void>& claim) {
  struct Both {
    std::shared_ptr<const void> claim;
    std::unique_ptr<StepDevice> device;  // destroyed first
  };
  const auto both = std::make_shared<Both>(claim, std::move(device));
  return {both, both->device.get()};
}

}  // namespace weft
