#pragma once

#include <cstdint>
#include <memory>

#include "weft/actors/loading/served_model.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/step_device.h"

namespace weft::bench {

/// A model on the host device, which uses all its threads, for a pipeline that is put together by
/// hand.
struct HostModel {
  ServedModel model;
  std::unique_ptr<HostStepDevice> device;
  int threads = 1;
};

/// Loads the demo model, with `rows` rows and pages for all of them.
[[nodiscard]] HostModel load_demo_model(std::int32_t rows);

/// Makes a llama of TinyLlama's shape (1.1 B) with random bf16 weights and the demo model's
/// tokenizer; its context is cut to `context`.
[[nodiscard]] HostModel make_random_llama(std::int32_t rows, std::int64_t context);

}  // namespace weft::bench
