#include "weft/model/tensor_names.h"

#include "weft/model/checkpoint.h"

namespace weft {

const CheckpointTensor* find_tensor(const Checkpoint& checkpoint, std::string_view name,
                                    std::span<const std::string> prefixes) {
  if (const CheckpointTensor* found = checkpoint.find(name)) return found;
  for (const std::string& prefix : prefixes) {
    const CheckpointTensor* found = name.starts_with(prefix)
                                        ? checkpoint.find(name.substr(prefix.size()))
                                        : checkpoint.find(prefix + std::string(name));
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace weft
