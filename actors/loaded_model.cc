#include "weft/actors/loaded_model.h"

#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/gpu/load_step_devices.h"

namespace weft {
namespace {

std::vector<TokenId> end_tokens(const Program& program, const Tokenizer& tokenizer) {
  const auto known = tokenizer.end_tokens();
  std::vector<TokenId> ends(known.begin(), known.end());
  for (const std::int64_t id : program.end_tokens) ends.push_back(static_cast<TokenId>(id));
  return sorted_once(std::move(ends));
}

ServedModel served(const Program& program, Tokenizer tokenizer, std::vector<TokenId> ends,
                   const StepDevices& devices) {
  ServedModel model{.tokenizer = std::move(tokenizer)};
  model.vocabulary = program.vocabulary;
  model.context = devices.limits.context;
  model.has_encoder = program.has_encoder;
  model.start_token = static_cast<TokenId>(program.start_token);
  model.end_tokens = std::move(ends);
  for (const RotaryFrequencies& rotary : program.rotary) {
    if (!rotary.long_frequency.empty()) model.long_from = rotary.long_from;
  }
  return model;
}

DeviceWishes wishes_of(const Config& config) {
  DeviceWishes all;
  all.device = config.device;
  all.threads = config.threads;
  all.instances = config.policy == BatchPolicy::kInstances ? config.instances : 1;
  all.kv_dtype = config.kv_dtype;
  all.tuning = config.tuning;
  CapacityWishes& wishes = all.capacity;
  wishes.memory_fraction = config.memory_fraction;
  wishes.memory_bytes = config.memory_bytes;
  wishes.rows = config.policy == BatchPolicy::kInstances ? 1 : config.max_rows;
  wishes.pages = config.max_pages;
  wishes.page_tokens = config.page_tokens;
  wishes.context = config.max_context;
  wishes.step_tokens = config.max_step_tokens;
  wishes.slabs = config.kv_layout == KvLayout::kSlab;
  return all;
}

}  // namespace

Result<LoadedModel> load_served(const OpenedModel& opened, Tokenizer tokenizer,
                                const Config& config, const LoadProgress& progress) {
  if (!opened.program->has_logits) {
    return Error{EngineErrc::kBadRequest, "model: " + config.model + " is an encoder"};
  }
  std::vector<TokenId> ends = end_tokens(*opened.program, tokenizer);
  auto devices = load_step_devices(opened, wishes_of(config), ends, progress);
  if (!devices) return devices.error();
  ServedModel model = served(*opened.program, std::move(tokenizer), std::move(ends), *devices);
  return LoadedModel{std::move(model), std::move(devices->devices)};
}

}  // namespace weft
