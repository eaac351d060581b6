#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft {

class Checkpoint;
struct CheckpointTensor;

/// Returns the tensor called `name`, also with one of `prefixes` removed, added in front, or
/// replacing another prefix ("model.norm" with "model." and "language_model.": "norm",
/// "language_model.model.norm", "language_model.norm"). Null if there is none.
[[nodiscard]] const CheckpointTensor* find_tensor(const Checkpoint& checkpoint,
                                                  std::string_view name,
                                                  std::span<const std::string> prefixes);

/// The first of these shell patterns that a tensor's name matches; null when none does.
[[nodiscard]] const std::string* matching_pattern(const std::string& name,
                                                  std::span<const std::string> patterns);

}  // namespace weft
