#include "weft/actors/models/model_list.h"

#include <algorithm>

#include "weft/actors/adapters/adapter_registry.h"

namespace weft {

std::string_view to_string(ModelState state) noexcept {
  switch (state) {
    case ModelState::kUnloaded:
      return "unloaded";
    case ModelState::kLoading:
      return "loading";
    case ModelState::kLoaded:
      return "loaded";
    case ModelState::kUnloading:
      return "unloading";
    case ModelState::kFailed:
      break;
  }
  return "failed";
}

namespace {

bool has_adapter(const ModelInfo& model, std::string_view name) {
  if (std::ranges::find(model.adapters, name) != model.adapters.end()) return true;
  return model.model && model.model->adapters && model.model->adapters->has(name);
}

ModelInfo entry_of(const ModelInfo& model, const AdapterInfo& adapter) {
  ModelInfo entry = model;
  entry.parent = model.name;
  entry.name = entry.adapter = adapter.name;
  if (adapter.created > 0) entry.created = adapter.created;
  entry.adapters = {};
  entry.aliases = {model.name + ":" + adapter.name};
  for (const std::string& alias : model.aliases) {
    entry.aliases.push_back(alias + ":" + adapter.name);
  }
  return entry;
}

}  // namespace

std::optional<ModelInfo> ModelList::named(std::string_view name) const {
  if (const ModelInfo* const model = find(name)) return *model;
  for (const ModelInfo& model : models) {
    if (has_adapter(model, name)) return entry_of(model, {.name = std::string(name)});
  }
  for (auto end = name.find(':'); end != std::string_view::npos; end = name.find(':', end + 1)) {
    const ModelInfo* const model = end == 0 ? nullptr : find(name.substr(0, end));
    const std::string_view rest = name.substr(end + 1);
    if (model != nullptr && has_adapter(*model, rest)) {
      return entry_of(*model, {.name = std::string(rest)});
    }
  }
  return std::nullopt;
}

std::vector<ModelInfo> ModelList::with_adapters() const {
  std::vector<ModelInfo> all;
  for (const ModelInfo& model : models) {
    all.push_back(model);
    std::vector<AdapterInfo> adapters;
    if (model.model == nullptr) {
      for (const std::string& name : model.adapters) adapters.push_back({.name = name});
    } else if (model.model->adapters) {
      adapters = model.model->adapters->list();
    }
    for (const AdapterInfo& adapter : adapters) all.push_back(entry_of(model, adapter));
  }
  return all;
}

const ModelInfo* ModelList::find(std::string_view name) const noexcept {
  if (name.empty()) return models.empty() ? nullptr : &models.front();
  const auto found = std::ranges::find_if(models, [name](const ModelInfo& model) {
    return model.name == name || std::ranges::find(model.aliases, name) != model.aliases.end();
  });
  return found == models.end() ? nullptr : &*found;
}

}  // namespace weft
