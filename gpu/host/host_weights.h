#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/model_device.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/model/program/program.h"

namespace weft {

class ThreadTeam;

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
