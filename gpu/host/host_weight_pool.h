#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/memory/memory_budget.h"

namespace weft {

/// The weights of models on the host that several engines share. A model's weights are in memory
/// once, from its first device to its last. Thread-safe.
class HostWeightPool {
 public:
  /// A model's weights, and the memory claimed for them.
  struct Entry {
    std::shared_ptr<const HostWeights> weights;
    MemoryClaim claim;
  };

  /// Returns the weights of this program object; null if no device has them.
  [[nodiscard]] std::shared_ptr<const Entry> find(const Program& program) const;
  /// Whether any model's weights are in memory. Then models may be served while another is loaded.
  [[nodiscard]] bool has_any() const;
  /// Adds the weights of a program. The program's devices keep the entry.
  [[nodiscard]] std::shared_ptr<const Entry> add(const Program& program,
                                                 std::shared_ptr<const HostWeights> weights,
                                                 MemoryClaim claim);

 private:
  mutable std::mutex mutex_;
  // A live entry keeps its program, so no other program can have that address.
  std::map<const Program*, std::weak_ptr<const Entry>> entries_;
};

}  // namespace weft
