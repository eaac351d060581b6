// How a simulation's models come and go.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/actor/supervision.h"
#include "weft/gpu/device_error.h"
#include "weft/tests/actors/adapting_filter.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/actors/simulation.h"

namespace weft::test {

void Simulation::make_models() {
  if (options_.files) folder_.emplace();
  const auto models = static_cast<std::uint64_t>(options_.models);
  if (models > 0) max_loaded_ = static_cast<std::int32_t>(random(models + 1));
  for (std::int32_t i = 0; i < std::max(options_.models, 1); ++i) {
    SimulatedModel::Options how{.number = i, .stages = options_.stages, .ranks = options_.ranks};
    how.encoder = options_.encoder;
    how.windows = options_.windows;
    how.places = options_.places;
    how.guesses = options_.guesses;
    how.state = options_.state;
    how.adapters = options_.adapters;
    how.pages_only = options_.models > 0;
    // Of one that is in memory alone the others may have the folder when it has gone.
    if (folder_) how.folder = folder_->path() / std::to_string(max_loaded_ == 1 ? 0 : i);
    models_.emplace_back(how, random_);
  }
}

void Simulation::fail_step() {
  if (!std::exchange(device_fails_, false)) return;
  ++failures_;
  throw std::runtime_error("the device fails");
}

PipelineOptions Simulation::pipeline_options() {
  PipelineOptions how;
  how.system = system_.options_for_other();
  how.own_threads = false;
  how.messages_per_activation = 1;
  const auto before = [this] {
    if (std::exchange(model_is_lost_, false)) {
      ++failures_;
      throw ActorFailure(ExitKind::kDeviceLost, "a model is lost");
    }
    if (!std::exchange(actor_fails_, false)) return;
    ++failures_;
    throw std::runtime_error("an actor fails");
  };
  // A scheduler that takes another's place counts from the beginning.
  const auto after = [this, seen = std::uint64_t{0}](const Scheduler& scheduler) mutable {
    const std::uint64_t now = scheduler.stats().prefixes.hollow_hits;
    hollow_hits_ += now < seen ? now : now - seen;
    seen = now;
    if (options_.training) watch_training(scheduler);
  };
  how.observer = std::make_shared<CheckingObserver>(before, after);
  if (options_.adapters) {
    how.before_preprocess = [this](ActorSystem& system, const PreprocessPool& next) {
      return system.spawn<AdaptingFilter>(
          {.name = "filter", .messages_per_activation = 1}, next, [this](const Request& request) {
            const SimulatedModel* const model = model_of(request);
            return model == nullptr ? nullptr : model->adapter_of(request);
          });
    };
  }
  return how;
}

void Simulation::make_pipeline() {
  SimulatedModel& model = models_.front();
  if (options_.training) {
    constexpr std::array kKinds = {TrainingKind::kDeferral, TrainingKind::kDeferral,
                                   TrainingKind::kFill, TrainingKind::kInferenceFirst,
                                   TrainingKind::kFinishFirst};
    model.config.training = kKinds.at(options_.seed % kKinds.size());  // a few seeds play all
    model.config.training_deferral_bound = std::chrono::microseconds(random(40'000));
  }
  const PipelineOptions how = pipeline_options();
  model.system = system_.others();
  port_ = std::make_unique<Pipeline>(
      system_.context().get_executor(), model.config, model.served(),
      std::vector<DeviceRanks>{model.make_devices([this] { fail_step(); })}, how);
  system_.context().run_all();
}

ModelsConfig Simulation::host_config() {
  ModelsConfig all;
  all.max_loaded = max_loaded_;
  std::size_t least = 0;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    ModelConfig model;
    model.name = models_[i].name;
    model.aliases = {model.name + "-too"};
    model.load = i == 0 || chance(0.6);
    model.share = std::array{0.5, 1.0, 3.0}.at(random(3));
    model.config = models_[i].config;
    model.config.model = "of " + model.name;
    model.config.device = "cpu";
    // Not all of them fit at once, where each says what it takes.
    model.has_memory = chance(0.3);
    model.config.memory_fraction = 0.5;
    least = std::max(least, models_[i].least_bytes());
    all.models.push_back(std::move(model));
  }
  all.memory_bytes = static_cast<std::int64_t>(least * models_.size() * (1 + random(4)));
  return all;
}

void Simulation::make_host() {
  ModelHostOptions how;
  how.pipeline = pipeline_options();
  how.own_thread = false;
  how.make = [this](const boost::asio::any_io_executor& /*executor*/, const Config& config,
                    const PipelineOptions& options) { return make_model(config, options); };
  how.on_change = [this](const ModelInfo& model, std::size_t /*loaded*/) { hear_of(model); };
  auto host =
      std::make_unique<ModelHost>(system_.context().get_executor(), host_config(), std::move(how));
  host_ = host.get();
  port_ = std::move(host);
}

std::unique_ptr<RequestPort> Simulation::make_model(const Config& config,
                                                    const PipelineOptions& options) {
  for (std::uint64_t i = 0, steps = host_ == nullptr ? 0 : random(40); i < steps; ++i) {
    step();  // the others serve meanwhile
    if (chance(0.1))
      options.progress(static_cast<std::int64_t>(i), static_cast<std::int64_t>(steps));
  }
  if (std::exchange(load_fails_, false)) {
    throw boost::system::system_error(EngineErrc::kInternal, "it cannot be loaded");
  }
  const auto model = std::ranges::find(models_, options.model, &SimulatedModel::name);
  PipelineOptions how = options;
  how.system = system_.options_for_other();
  how.system.metrics = options.system.metrics;
  how.system.on_exit = [ours = std::move(how.system.on_exit),
                        host = options.system.on_exit](const ExitReport& report) {
    ours(report);
    host(report);
  };
  model->system = system_.others();
  if (options.before_device) {
    how.before_device = [model, before = options.before_device](auto device) {
      auto shared = before(std::move(device));
      model->turns = std::dynamic_pointer_cast<DeviceTurns::SharedDevice>(shared);
      return shared;
    };
  }
  budget_ = options.memory_budget;
  std::vector<DeviceRanks> devices;
  devices.push_back(model->make_devices([this] { fail_step(); }, *budget_, config.memory_bytes));
  auto made = std::make_unique<Pipeline>(system_.context().get_executor(), config, model->served(),
                                         std::move(devices), how);
  system_.context().run_all();
  return made;
}

void Simulation::hear_of(const ModelInfo& info) {
  SimulatedModel& model = *std::ranges::find(models_, info.name, &SimulatedModel::name);
  if (info.state == ModelState::kLoaded) ++loads_;
  if (info.state == ModelState::kUnloaded && model.loaded) ++unloads_;
  if (info.state == ModelState::kFailed) ++failed_models_;
  model.loaded = info.state == ModelState::kLoaded;
}

/// Somebody wants a model loaded, or unloaded.
void Simulation::change_a_model() {
  const std::string name = chance(0.02) ? "nobody" : models_[random(models_.size())].name;
  ++changes_;
  auto done = [this, name, heard = std::make_shared<bool>(false)](const Result<void>& result) {
    EXPECT_FALSE(std::exchange(*heard, true)) << "somebody has heard twice of " << name;
    --changes_;
    if (result) return;
    const Error& error = result.error();
    EXPECT_EQ(error.code == EngineErrc::kNoSuchModel, name == "nobody");
    const bool failed =
        error.code == EngineErrc::kInternal || error.code == DeviceErrc::kOutOfMemory;
    EXPECT_TRUE(error.code == EngineErrc::kNoSuchModel || error.code == EngineErrc::kOverloaded ||
                error.code == EngineErrc::kModelLoading ||
                error.code == EngineErrc::kModelUnloading || (failed && failed_models_ > 0))
        << to_string(error);
  };
  chance(0.6) ? host_->load_model(name, done) : host_->unload_model(name, done);
}

/// The host loads or destroys a model. Returns false where it has nothing to do.
bool Simulation::work() {
  if (host_ == nullptr || loading_) return false;
  loading_ = true;
  const bool done = host_->run_one_job();
  loading_ = false;
  return done;
}

SimulatedModel* Simulation::model_of(const Request& request) {
  if (host_ == nullptr || request.model.empty()) return &models_.front();
  const auto found = std::ranges::find_if(models_, [&](const SimulatedModel& one) {
    return request.model == one.name || request.model == one.name + "-too";
  });
  return found == models_.end() ? nullptr : &*found;
}

/// Whether a request may end so where models come and go.
bool Simulation::is_of_models(const Error& error) const {
  if (host_ == nullptr) return false;
  const bool failed = error.code == EngineErrc::kModelFailed || error.code == EngineErrc::kNotReady;
  return error.code == EngineErrc::kModelNotLoaded || error.code == EngineErrc::kModelUnloading ||
         (failed && failures_ + failed_models_ > 0);
}

}  // namespace weft::test
