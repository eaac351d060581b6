#pragma once

#include <boost/json/object.hpp>
#include <vector>

#include "weft/model/spec/architecture.h"

namespace weft {

/// What a model is made of, for each layer of its decoder (or only stack), as the expressions of
/// [gguf.metadata] know it under `model`. docs/model-specs.md lists the fields.
[[nodiscard]] std::vector<boost::json::object> gguf_blocks(const Architecture& model);

}  // namespace weft
