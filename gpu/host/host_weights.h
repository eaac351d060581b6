#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/gpu/model_device.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/model/program/program.h"

namespace weft {

class ThreadTeam;

/// Who is served while weights are read: of others the reading takes a tenth of each processor
/// where they keep them busy, and ten times as long (BackgroundPace).
enum class LoadBeside : std::uint8_t { kNobody, kOthers };

/// A program's weights in the host's memory, in the order in which its ops read them. Nothing of
/// the checkpoint's files is read again. Immutable.
class HostWeights {
 public:
  /// Reads every tensor once, on all threads of `team`. Errors of reading the files; kNoMemory,
  /// kOutOfMemory. Throws as LoadProgress says.
  [[nodiscard]] static Result<HostWeights> load(const Program& program, ThreadTeam& team,
                                                const LoadProgress& progress,
                                                LoadBeside beside = LoadBeside::kNobody);

  /// Bytes of all that load() takes.
  [[nodiscard]] static std::int64_t bytes(const Program& program);

  [[nodiscard]] const PackedWeight& matrix(MatrixId id) const {
    return matrices_[static_cast<std::size_t>(id)];
  }
  /// Null for kAbsent.
  [[nodiscard]] const float* vector(VectorId id) const {
    return id == kAbsent ? nullptr : vectors_[static_cast<std::size_t>(id)].data();
  }

  /// Where an embedding finds its rows: in the weight of the head that is tied to it, or as they
  /// stand in the file. The other is null.
  struct Table {
    const PackedWeight* packed = nullptr;
    const std::byte* rows = nullptr;
  };
  /// `tensor` is of an op's TableRows in the program.
  [[nodiscard]] Table table(const CheckpointTensor* tensor) const;

 private:
  struct HeldTable {
    MatrixId matrix = kAbsent;
    HostMemory rows;  ///< where no matrix has them
  };

  std::vector<PackedWeight> matrices_;
  std::vector<std::vector<float>> vectors_;
  std::map<const CheckpointTensor*, HeldTable> tables_;
};

}  // namespace weft
