#include "weft/model/spec/tensor_names.h"

#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

const CheckpointTensor* find_tensor(const Checkpoint& checkpoint, std::string_view name,
                                    std::span<const std::string> prefixes) {
  if (const CheckpointTensor* found = checkpoint.find(name)) return found;
  std::string_view bare = name;
  for (const std::string& prefix : prefixes) {
    if (!name.starts_with(prefix)) continue;
    bare = name.substr(prefix.size());
    if (const CheckpointTensor* found = checkpoint.find(bare)) return found;
  }
  for (const std::string& prefix : prefixes) {
    for (const std::string_view rest : {name, bare}) {
      const CheckpointTensor* found = checkpoint.find(prefix + std::string(rest));
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

}  // namespace weft
