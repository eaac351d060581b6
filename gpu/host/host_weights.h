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

/// Whether others are served while weights are read. With kOthers, reading takes a tenth of each
/// processor that they keep busy, and so up to ten times as long (BackgroundPace).
enum class LoadBeside : std::uint8_t { kNobody, kOthers };

/// A program's weights in the host's memory, in the order in which its ops read them. The
/// checkpoint's files are not read again. Immutable.
class HostWeights {
 public:
  /// Reads every tensor once, on all threads of `team`. Errors of reading the files; kNoMemory,
  /// kOutOfMemory. Throws as LoadProgress says.
  [[nodiscard]] static Result<HostWeights> load(const Program& program, ThreadTeam& team,
                                                const LoadProgress& progress,
                                                LoadBeside beside = LoadBeside::kNobody);

  /// Returns the bytes that load() takes.
  [[nodiscard]] static std::int64_t bytes(const Program& program);

  [[nodiscard]] const PackedWeight& matrix(MatrixId id) const {
    return matrices_[static_cast<std::size_t>(id)];
  }
  /// Returns null for kAbsent.
  [[nodiscard]] const float* vector(VectorId id) const {
    return id == kAbsent ? nullptr : vectors_[static_cast<std::size_t>(id)].data();
  }

  /// The rows of an embedding: in the weight of the output head that is tied to it, or as in the
  /// file. The other pointer is null.
  struct Table {
    const PackedWeight* packed = nullptr;
    const std::byte* rows = nullptr;
  };
  /// `tensor` belongs to an op's TableRows in the program.
  [[nodiscard]] Table table(const CheckpointTensor* tensor) const;

 private:
  struct HeldTable {
    MatrixId matrix = kAbsent;
    HostMemory rows;  ///< empty if a matrix has the rows
  };

  std::vector<PackedWeight> matrices_;
  std::vector<std::vector<float>> vectors_;
  std::map<const CheckpointTensor*, HeldTable> tables_;
};

}  // namespace weft
