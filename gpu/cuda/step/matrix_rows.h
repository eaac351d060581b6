#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/part_reader.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/share.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// Converts a matrix from the plan's parts in their files to rows as in DeviceMatrix, in the
/// matrix's type. Borrows plan and matrix. Returns the errors of reading a checkpoint's tensors.
class MatrixRows {
 public:
  MatrixRows(const MatrixPlan& plan, const DeviceMatrix& matrix);

  /// Reads a share of the parts that are transposed in their tensors. A row of such a part is
  /// spread over the whole tensor, so the part is held in memory. All shares must be read before
  /// write(); they may run at once.
  [[nodiscard]] Result<void> hold_transposed(Share share);

  /// Writes stored rows [first, first + count) to `out`, which they fill. For q8_0 these are the
  /// numbers, or the scales if `scales`. Rows without a part are zeros. Several threads may call it
  /// at once, each with a reader of its own.
  [[nodiscard]] Result<void> write(std::int64_t first, std::int64_t count, bool scales,
                                   std::span<std::byte> out, PartReader& reader) const;

 private:
  /// Bytes of a tensor from offset `begin` on.
  struct Held {
    std::uint64_t begin = 0;
    std::vector<std::byte> bytes;
  };
  /// Consecutive stored rows that are outputs of one part, or one row without a part.
  struct Run {
    const MatrixPart* part = nullptr;
    std::int64_t output = 0;  ///< index among the part's outputs
    std::int64_t rows = 1;
  };

  [[nodiscard]] Run run_at(std::int64_t row, std::int64_t most) const;
  /// Whether the part's rows are in the file as they will be on the device.
  [[nodiscard]] bool stands_alike(const MatrixPart& part) const;
  [[nodiscard]] Result<SourceMatrix> source_of(const Run& run, PartReader& reader) const;
  [[nodiscard]] Result<void> write_run(const Run& run, bool scales, std::span<std::byte> out,
                                       PartReader& reader) const;

  const MatrixPlan& plan_;
  const DeviceMatrix& matrix_;
  std::map<const CheckpointTensor*, Held> held_;
};

/// Reads outputs [first, first + count) of a matrix held in blocks to `out`, which they fill, as
/// they are in their file. Errors of CheckpointTensor::read_blocks().
[[nodiscard]] Result<void> read_encoded_outputs(const MatrixPlan& plan, std::int64_t first,
                                                std::int64_t count, std::span<std::byte> out);

/// Returns the bytes of one stored row.
[[nodiscard]] std::int64_t row_bytes(const DeviceMatrix& matrix, bool scales);

}  // namespace weft::cuda
