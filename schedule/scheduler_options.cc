#include "weft/schedule/scheduler_options.h"

namespace weft {

SchedulerOptions scheduler_options(const Config& config, const DeviceLimits& limits) {
  SchedulerOptions options;
  options.limits = limits;
  options.policy = config.policy;
  options.window = config.window;
  options.admission = config.admission;
  options.watermark = config.watermark;
  // A device that keeps no KV needs no layout and no cache.
  options.layout = limits.keeps_kv ? config.kv_layout : KvLayout::kPages;
  options.target_inter_token = config.target_inter_token;
  options.decode_every = config.decode_every;
  options.jump_ahead = config.jump_ahead;
  options.training = {config.training, config.training_deferral_bound};
  options.cache = config.cache_enabled && limits.keeps_kv;
  // Where no cached prompt is shared, no output is.
  if (config.speculation != SpeculationKind::kOff && limits.guesses > 0 && options.cache) {
    options.recent_tokens = config.speculation_recent_tokens;
  }
  return options;
}

}  // namespace weft
