#pragma once

#include <string>
#include <utility>

#include "weft/core/metrics.h"

namespace weft {

/// Adds the label of a model that is one of several; a model that is alone has none.
[[nodiscard]] inline Labels with_model(const std::string& model, Labels labels = {}) {
  if (!model.empty()) labels.emplace_back("model", model);
  return labels;
}

}  // namespace weft
