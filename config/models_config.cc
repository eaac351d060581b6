#include "weft/config/models_config.h"

#include <utility>

#include "weft/config/config_draft.h"
#include "weft/config/config_error.h"
#include "weft/config/model_draft.h"

namespace weft {
namespace {

/// The model's name where a file has one model and an application no other name for it.
constexpr const char* kOnlyModel = "default";

Result<ModelsConfig> models_of(const ConfigDraft& draft) {
  auto all = draft.finish();
  if (!all) return std::move(all).error();
  if (all->models.models.empty()) return ModelsConfig::of(all->engine, kOnlyModel);
  return std::move(all->models);
}

}  // namespace

ModelsConfig ModelsConfig::of(const Config& config, std::string name) {
  ModelsConfig all;
  all.memory_fraction = config.memory_fraction;
  all.memory_bytes = config.memory_bytes;
  ModelConfig& model = all.models.emplace_back();
  model.name = std::move(name);
  model.has_memory = true;
  model.config = config;
  return all;
}

Result<ModelsConfig> ModelsConfig::load(const std::filesystem::path& file) {
  ConfigDraft draft;
  const Result<void> done = draft.load(file);
  if (!done) return done.error();
  return models_of(draft);
}

Result<ModelsConfig> ModelsConfig::parse(std::string_view toml, std::string_view name) {
  ConfigDraft draft;
  const Result<void> done = draft.read(toml, name);
  if (!done) return done.error();
  return models_of(draft);
}

Result<void> ModelsConfig::validate() const {
  if (models.empty() || models.size() > kMaxModels) {
    return Error{ConfigErrc::kBadConfig, "models: there are " + std::to_string(models.size()) +
                                             ", and must be 1 .. " + std::to_string(kMaxModels)};
  }
  if (max_loaded < 0) {
    return Error{ConfigErrc::kBadConfig,
                 "max_loaded: is " + std::to_string(max_loaded) + ", and must be 0 or more"};
  }
  std::vector<std::string> places;
  for (std::size_t i = 0; i < models.size(); ++i) {
    places.push_back("models[" + std::to_string(i) + "]");
    if (const auto valid = models[i].config.validate(); !valid) {
      return Error{ConfigErrc::kBadConfig, places.back() + ": " + valid.error().detail};
    }
  }
  return check_models(models, places);
}

}  // namespace weft
