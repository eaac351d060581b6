#pragma once

#include <cstdint>
#include <memory>

#include "weft/config/config.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/training/training_policy.h"

namespace weft {

class PageFiles;

/// How a scheduler plans. Config explains the fields that have the same names
/// there.
struct SchedulerOptions {
  DeviceLimits limits;
  BatchPolicy policy = BatchPolicy::kFusion;
  Duration window{};
  AdmissionMode admission = AdmissionMode::kOptimistic;
  double watermark = 0.05;
  KvLayout layout = KvLayout::kPages;
  Duration target_inter_token{};
  std::int32_t decode_every = 1;
  bool jump_ahead = true;
  TrainingOptions training{};
  bool cache = true;  ///< Config::cache_enabled
  /// Tokens of recent outputs in which a drafter looks for guesses (RecentOutputs); 0: none.
  std::int64_t recent_tokens = 0;
  std::int64_t page_bytes = 0;  ///< a page's bytes in all layers, for statistics; 0: unknown
  /// Files that keep pages of the device's KV cache which no group uses; null: no files.
  std::shared_ptr<PageFiles> files{};
};

/// Returns how a device of these limits is scheduled by a configuration.
[[nodiscard]] SchedulerOptions scheduler_options(const Config& config, const DeviceLimits& limits);

}  // namespace weft
