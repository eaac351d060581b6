#include "weft/model/spec/tensor_names.h"

#include <fnmatch.h>

#include <algorithm>

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

const std::string* matching_pattern(const std::string& name,
                                    std::span<const std::string> patterns) {
  const auto found = std::ranges::find_if(patterns, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
  return found == patterns.end() ? nullptr : &*found;
}

}  // namespace weft
