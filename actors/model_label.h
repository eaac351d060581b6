#pragma once

#include <string>
#include <utility>

#include "weft/core/metrics.h"

namespace weft {

/// Adds the label of a model; the only model of an engine has no label.
[[nodiscard]] inline Labels with_model(const std::string& model, Labels labels = {}) {
  if (!model.empty()) labels.emplace_back("model", model);
  return labels;
}

}  // namespace weft
