#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft {

class Checkpoint;
struct CheckpointTensor;

/// The tensor called `name`, or called so with one of `prefixes` taken away, put before, or put in
/// the place of another ("model.norm" with "model." and "language_model.": "norm",
/// "language_model.model.norm", "language_model.norm"); null when there is none.
[[nodiscard]] const CheckpointTensor* find_tensor(const Checkpoint& checkpoint,
                                                  std::string_view name,
                                                  std::span<const std::string> prefixes);

/// The first of these shell patterns that a tensor's name matches; null when none does.
[[nodiscard]] const std::string* matching_pattern(const std::string& name,
                                                  std::span<const std::string> patterns);

}  // namespace weft
