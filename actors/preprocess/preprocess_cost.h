#pragma once

#include <cstdint>

#include "weft/actors/request/request.h"

namespace weft {

/// What preparing a request costs a worker, as far as it can be told before.
struct PreprocessCost {
  std::int64_t bytes = 0;  ///< of text, JSON and schemas that are read
  /// Whether it goes to the workers for large requests: by defaults::kLargePromptBytes,
  /// defaults::kLargePromptMessages or Request::bulk.
  bool large = false;
};
[[nodiscard]] PreprocessCost preprocess_cost(const Request& request);

}  // namespace weft
