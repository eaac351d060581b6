#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/memory/memory_budget.h"

namespace weft {

/// The weights of models on the host that several engines have in common: in memory once, from the
/// first device that has them to the last. Thread-safe.
class HostWeightPool {
 public:
  /// A model's weights, and what was taken for them.
  struct Entry {
    std::shared_ptr<const HostWeights> weights;
    MemoryClaim claim;
  };

  /// Returns the weights of this very program; null where no device has them.
  [[nodiscard]] std::shared_ptr<const Entry> find(const Program& program) const;
  /// Whether any model's are in memory: others may be served while one is loaded.
  [[nodiscard]] bool has_any() const;
  /// Adds the weights of a program, which its devices keep with the entry.
  [[nodiscard]] std::shared_ptr<const Entry> add(const Program& program,
                                                 std::shared_ptr<const HostWeights> weights,
                                                 MemoryClaim claim);

 private:
  mutable std::mutex mutex_;
  // An entry that lives keeps its program's address from being another's.
  std::map<const Program*, std::weak_ptr<const Entry>> entries_;
};

}  // namespace weft
