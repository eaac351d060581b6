#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

struct Architecture;
struct Program;

/// A low-rank pair for one matrix W [outputs, inputs] of the base: W + scale * B A. With a
/// magnitude (DoRA, Liu et al. 2024, equation 5) each output o of that sum is scaled by
/// magnitude[o] / |sum[o]|.
struct AdapterTarget {
  std::string tensor;  ///< name in the base's checkpoint
  /// Index of the matrix in a stack of experts; -1: the tensor is one matrix.
  std::int64_t expert = -1;
  bool transposed = false;  ///< the tensor has the matrix as [inputs, outputs]
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t rank = 0;
  float scale = 1;
  std::vector<float> a;          ///< [rank, inputs]
  std::vector<float> b;          ///< [outputs, rank]
  std::vector<float> magnitude;  ///< [outputs], or empty
};

/// Numbers that are added to a bias of the base.
struct AdapterBiasTarget {
  std::string tensor;
  std::vector<float> values;  ///< already multiplied by scale
};

/// Rows of a table of the base that are replaced.
struct AdapterRows {
  std::string tensor;
  std::vector<std::int64_t> rows;
  std::vector<float> values;  ///< [rows, H]
};

/// An adapter that is read and fits a base. It lists its changes by the names of the base's
/// tensors. Pairs for queries, keys and values, or for gate and up, stay separate as in the file;
/// MatrixPart of a Program says which rows of its matrices a tensor becomes. Immutable; shared by
/// threads.
struct Adapter {
  std::vector<AdapterTarget> targets;  ///< sorted by tensor and expert, each once
  std::vector<AdapterBiasTarget> biases;
  /// Tensors that replace the base's tensors of the same name.
  std::vector<CheckpointTensor> whole;
  std::vector<AdapterRows> rows;
  /// SHA-256 of all the above, independent of the adapter's name: the identity for caches.
  std::array<std::byte, 32> hash{};
  std::vector<std::string> warnings;  ///< sentences for the adapter's users

  [[nodiscard]] std::int64_t bytes() const noexcept;  ///< bytes of the pairs in memory
};

/// Reads an adapter's numbers, and finds the base's tensor that each changes. `program` is compiled
/// from `base`, by `architecture`. kBadAdapter naming file and tensor: a refused key, a tensor that
/// the base lacks or has in another shape, a number that is not finite, an embedding that is also
/// the head; errors of reading. Thread-safe.
[[nodiscard]] Result<Adapter> bind_adapter(const AdapterFile& file, const Checkpoint& base,
                                           const Program& program,
                                           const Architecture& architecture);

}  // namespace weft
