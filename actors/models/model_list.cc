#include "weft/actors/models/model_list.h"

#include <algorithm>

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

const ModelInfo* ModelList::find(std::string_view name) const noexcept {
  if (name.empty()) return models.empty() ? nullptr : &models.front();
  const auto found = std::ranges::find_if(models, [name](const ModelInfo& model) {
    return model.name == name || std::ranges::find(model.aliases, name) != model.aliases.end();
  });
  return found == models.end() ? nullptr : &*found;
}

}  // namespace weft
