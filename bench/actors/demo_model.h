#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/core/token.h"

namespace weft::bench {

[[nodiscard]] std::string demo_model_path();

/// Returns the demo model's tokenizer, for devices that need no weights.
[[nodiscard]] ServedModel demo_model(std::int64_t context);

/// Returns the tokens of a text of the demo model's vocabulary that can be repeated for ever; their
/// number is a power of two.
[[nodiscard]] std::vector<TokenId> endless_tokens(const ServedModel& model);

}  // namespace weft::bench
