#pragma once

#include <boost/json/object.hpp>
#include <vector>

#include "weft/model/spec/architecture.h"

namespace weft {

/// Returns the parts of a model for each layer of its decoder (or only stack), under the names that
/// the expressions of [gguf.metadata] use below `model`. docs/model-specs.md lists the fields.
[[nodiscard]] std::vector<boost::json::object> gguf_blocks(const Architecture& model);

}  // namespace weft
