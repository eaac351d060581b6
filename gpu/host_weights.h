#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/error.h"
#include "weft/kernels/packed_weight.h"
#include "weft/model/program.h"

namespace weft {

class ThreadTeam;

/// Told how much of the weights is loaded: bytes done and in all. Called by one thread at a time.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// A program's weights in the host's memory, in the order in which its ops read them. Immutable.
class HostWeights {
 public:
  /// Reads every tensor once, on all threads of `team`.
  [[nodiscard]] static Result<HostWeights> load(const Program& program, ThreadTeam& team,
                                                const LoadProgress& progress);

  [[nodiscard]] const PackedWeight& matrix(MatrixId id) const {
    return matrices_[static_cast<std::size_t>(id)];
  }
  /// Null for kAbsent.
  [[nodiscard]] const float* vector(VectorId id) const {
    return id == kAbsent ? nullptr : vectors_[static_cast<std::size_t>(id)].data();
  }

 private:
  std::vector<PackedWeight> matrices_;
  std::vector<std::vector<float>> vectors_;
};

}  // namespace weft
