#include "weft/bench/actors/host_models.h"

#include <utility>

#include "weft/bench/actors/demo_model.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/step_options.h"
#include "weft/model/open_model.h"
#include "weft/model/random_llama.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kStepTokens = 512;

HostModel load(const std::shared_ptr<const Checkpoint>& checkpoint,
               const std::shared_ptr<const Program>& program, std::int32_t rows,
               std::int64_t context) {
  DeviceLimits limits;
  limits.rows = rows;
  limits.page_tokens = 16;
  limits.context = context;
  limits.pages = rows * limits.pages_per_row();
  limits.step_tokens = kStepTokens;
  limits.vocabulary = program->vocabulary;
  const auto options = step_options(*program, limits, DType::kBF16, 0);
  ServedModel model = demo_model(context);
  model.vocabulary = limits.vocabulary;
  auto device = HostDevice::load(checkpoint, program, options).value();
  const int threads = device->threads();
  auto steps = std::make_unique<HostStepDevice>(std::move(device), limits, model.end_tokens);
  return {std::move(model), std::move(steps), threads};
}

}  // namespace

HostModel load_demo_model(std::int32_t rows) {
  const OpenedModel opened = open_model(demo_model_path(), {}).value();
  return load(opened.checkpoint, opened.program, rows, opened.program->context);
}

HostModel make_random_llama(std::int32_t rows, std::int64_t context) {
  const RandomLlama llama(kTinyLlama, 1);
  return load(llama.checkpoint(), llama.program(), rows, context);
}

}  // namespace weft::bench
