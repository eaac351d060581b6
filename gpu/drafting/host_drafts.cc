#include "weft/gpu/drafting/host_drafts.h"

#include <string>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/gpu/drafting/model_drafter.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/sampling/drafters/suffix_drafter.h"

namespace weft {
namespace {

Error no_draft(const std::string& why) { return {DeviceErrc::kUnfit, "speculation.model: " + why}; }

std::unique_ptr<Drafter> draft_look_ups(const DeviceLimits& limits) {
  return std::make_unique<SuffixDrafter>(static_cast<std::size_t>(limits.rows),
                                         static_cast<std::size_t>(limits.vocabulary),
                                         static_cast<std::size_t>(limits.context) + 1);
}

}  // namespace

Result<void> check_draft(const Program& draft, const Program& model) {
  if (draft.has_encoder) return no_draft("a model with an encoder drafts nothing");
  if (!draft.causal || !draft.generates()) return no_draft("the model generates no text");
  if (model.has_encoder) {
    return no_draft("model.path has an encoder, whose input a draft model does not see");
  }
  if (!model.causal || !model.generates()) return no_draft("model.path generates no text");
  if (model.window > 0) {
    return no_draft(
        "in each layer of model.path a token sees at most " + std::to_string(model.window) +
        " tokens; the model gives up the pages of older tokens, which a draft model needs");
  }
  return {};
}

DeviceNeeds with_draft(DeviceNeeds needs, const Program& draft, DType kv_dtype,
                       std::int32_t page_tokens, std::int64_t replicas) {
  const std::int64_t weights = HostWeights::bytes(draft);
  // The caller keeps the program for as long as it asks.
  needs.bytes = [model = std::move(needs.bytes), &draft, kv_dtype, replicas,
                 weights](const DeviceLimits& limits) {
    const DeviceOptions options = ModelDrafter::options_for(draft, limits, kv_dtype, 1);
    return model(limits) + weights +
           replicas * (HostDevice::memory_bytes(draft, options) + ModelDrafter::bytes(limits));
  };
  needs.weight_bytes += weights;
  DeviceOptions page;
  page.kv_dtype = kv_dtype;
  page.page_tokens = page_tokens;
  needs.page_bytes += replicas * HostDevice::page_bytes(draft, page);
  return needs;
}

Result<std::unique_ptr<HostDevice>> HostDrafters::load(const DeviceOptions& options,
                                                       const LoadProgress& progress) {
  const OpenedModel& draft = *wishes_.draft;
  if (weights_) {
    return HostDevice::with_weights(draft.checkpoint, draft.program, weights_, options);
  }
  auto device = HostDevice::load(draft.checkpoint, draft.program, options, progress);
  if (device) weights_ = (*device)->weights();
  return device;
}

Result<std::unique_ptr<Drafter>> HostDrafters::make(const DeviceLimits& limits,
                                                    const LoadProgress& progress) {
  if (limits.guesses == 0) return std::unique_ptr<Drafter>();
  if (!wishes_.draft) return draft_look_ups(limits);
  auto draft = load(ModelDrafter::options_for(*wishes_.draft->program, limits, kv_dtype_, threads_),
                    progress);
  if (!draft) return Error{draft.error().code, "speculation.model: " + draft.error().detail};
  return std::unique_ptr<Drafter>(std::make_unique<ModelDrafter>(
      *std::move(draft), limits, wishes_.looks_up ? draft_look_ups(limits) : nullptr));
}

}  // namespace weft
