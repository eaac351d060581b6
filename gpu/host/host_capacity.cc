#include "weft/gpu/host/host_capacity.h"

#include <algorithm>
#include <memory>

#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/step_options.h"
#include "weft/model/program/passes/attach_adapters.h"

namespace weft {
namespace {

// Returns the bytes of a row: its sampler's history of the context, at most kSamplerPerToken for
// each token, an equal history of its drafter, and its page tables.
std::int64_t row_bytes(const DeviceLimits& limits) {
  constexpr std::int64_t kSamplerPerToken = 60;
  const std::int64_t cross = limits.cross_pages > 0 ? limits.pages_per_step() : 0;
  const std::int64_t histories = limits.guesses > 0 ? 2 : 1;
  return histories * kSamplerPerToken * limits.context +
         (limits.pages_per_row() + cross) * std::int64_t{4};
}

}  // namespace

DeviceNeeds host_needs(const Program& program, const CapacityWishes& wishes) {
  const auto options = [&program, kv_dtype = wishes.kv_dtype](const DeviceLimits& limits) {
    return step_options(program, limits, kv_dtype, 1);
  };
  // An adapted program has the buffers of both programs.
  std::shared_ptr<const Program> planned(std::shared_ptr<void>(), &program);
  if (wishes.adapter_places > 0) {
    planned =
        std::make_shared<const Program>(attach_adapters(program, std::max(wishes.adapter_rank, 1)));
  }
  DeviceNeeds needs;
  needs.computes_adapters = true;
  needs.weight_bytes = HostWeights::bytes(program);
  needs.bytes = [planned, options, weights = needs.weight_bytes](const DeviceLimits& limits) {
    return weights + HostDevice::memory_bytes(*planned, options(limits)) +
           limits.rows * row_bytes(limits);
  };
  DeviceLimits one;
  one.page_tokens = wishes.page_tokens;
  needs.page_bytes = HostDevice::page_bytes(program, options(one));
  return needs;
}

Result<DeviceLimits> host_capacity(const Program& program, const CapacityWishes& wishes,
                                   std::int64_t free_bytes) {
  return device_capacity(program, wishes, free_bytes, host_needs(program, wishes));
}

}  // namespace weft
