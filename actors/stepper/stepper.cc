#include "weft/actors/stepper/stepper.h"

#include <exception>
#include <string>
#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/loading/loaded_model.h"
#include "weft/actors/request/request_text.h"
#include "weft/actors/stepper/stepper_core.h"
#include "weft/config/config_error.h"
#include "weft/config/replicas_text.h"
#include "weft/core/error/caught_error.h"
#include "weft/gpu/ranks/step_ranks.h"

namespace weft {
namespace {

/// A Stepper runs one step at a time; replicas and instances run several.
Result<void> check_one_step(const Config& config) {
  const auto refuse = [](const char* key) {
    return Error{ConfigErrc::kBadConfig,
                 std::string(key) + ": a Stepper runs one step at a time; several need an Engine"};
  };
  if (config.policy == BatchPolicy::kInstances) return refuse("scheduling.policy");
  const auto replicas = replica_devices(config);  // there since the configuration is valid
  if (replicas->size() > 1) return refuse("device.replicas");
  if (!config.cache_folder.empty()) {
    return Error{ConfigErrc::kBadConfig,
                 "cache.folder: a Stepper has no thread that reads files; an Engine has"};
  }
  return {};
}

/// A device that runs a step on all of its ranks.
std::shared_ptr<StepDevice> as_one(DeviceRanks ranks) {
  if (ranks.size() == 1) return std::move(ranks.front());
  return std::make_shared<StepRanks>(std::move(ranks));
}

}  // namespace

Result<Stepper> Stepper::create(const Config& config, const StepperOptions& options) {
  try {
    if (const auto valid = config.validate(); !valid) return valid.error();
    if (const auto alone = check_one_step(config); !alone) return alone.error();
    auto loaded = load_configured_model(config, options.progress, options.memory_budget);
    if (!loaded) return loaded.error();
    return Stepper(config, std::move(loaded->model), as_one(std::move(loaded->devices.front())),
                   options);
  } catch (const std::exception& failure) {
    return caught_error(failure, EngineErrc::kInternal);
  }
}

Stepper::Stepper(const Config& config, ServedModel model, std::shared_ptr<StepDevice> device,
                 const StepperOptions& options)
    : core_(std::make_unique<StepperCore>(config, std::move(model), std::move(device),
                                          options.clock)) {}

Stepper::Stepper(Stepper&&) noexcept = default;
Stepper& Stepper::operator=(Stepper&&) noexcept = default;
Stepper::~Stepper() = default;

Result<RequestId> Stepper::add(Request request) { return core_->add(std::move(request)); }
Result<void> Stepper::change_adapter(const AdapterChange& change) {
  return weft::change_adapter(*core_->model(), change);
}
std::vector<AdapterInfo> Stepper::adapters() const {
  const auto& registry = core_->model()->adapters;
  return registry == nullptr ? std::vector<AdapterInfo>() : registry->list();
}
bool Stepper::cancel(RequestId id) noexcept { return core_->end(id, EndCause::kCancel); }
bool Stepper::stop(RequestId id) noexcept { return core_->end(id, EndCause::kStop); }
std::vector<StepOutput> Stepper::infer() { return core_->infer({}); }
std::vector<StepOutput> Stepper::infer(TimePoint deadline) { return core_->infer(deadline); }
bool Stepper::idle() const noexcept { return core_->idle(); }
bool Stepper::ready() const noexcept { return core_->ready(); }
EngineStats Stepper::stats() const { return core_->stats(); }
std::shared_ptr<const ServedModel> Stepper::model() const noexcept { return core_->model(); }

}  // namespace weft
