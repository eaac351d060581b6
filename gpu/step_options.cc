#include "weft/gpu/step_options.h"

#include <algorithm>

#include "weft/gpu/host/host_processors.h"

namespace weft {

DeviceOptions step_options(const Program& program, const DeviceLimits& limits, DType kv_dtype,
                           int threads) {
  DeviceOptions options;
  options.threads = threads;
  options.max_tokens = limits.step_tokens;
  options.max_outputs = limits.step_outputs();
  options.max_sequences = limits.rows;
  if (limits.guesses > 0) options.max_guesses = limits.step_outputs() - 1;
  options.max_context = limits.context;
  options.page_tokens = limits.page_tokens;
  options.pages = limits.pages;
  options.cross_pages = limits.cross_pages;
  options.kv_dtype = kv_dtype;
  options.kv_on_host = limits.kv_on_host;
  options.rounds_rows = limits.rounds_rows;
  options.adapter_places = limits.adapter_places;
  options.adapter_rank = limits.adapter_rank;
  if (program.has_encoder || !limits.keeps_kv) {
    // Each input of one step begins on its own page.
    options.encoder_pages = limits.pages_per_step() + limits.rows;
  }
  return options;
}

std::size_t mask_threads() {
  return static_cast<std::size_t>(std::clamp(host_parallelism() / 2, 1, 4));
}

}  // namespace weft
