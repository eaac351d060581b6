#include "weft/schedule/scheduler_options.h"

namespace weft {

SchedulerOptions scheduler_options(const Config& config, const DeviceLimits& limits) {
  SchedulerOptions options;
  options.limits = limits;
  options.policy = config.policy;
  options.window = config.window;
  options.admission = config.admission;
  options.watermark = config.watermark;
  options.layout = config.kv_layout;
  options.target_inter_token = config.target_inter_token;
  options.decode_every = config.decode_every;
  options.cache = config.cache_enabled;
  return options;
}

}  // namespace weft
