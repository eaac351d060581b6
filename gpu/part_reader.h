#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "weft/core/background.h"
#include "weft/core/error/error.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/model/program/program.h"

namespace weft {

/// A rectangle of a MatrixPart, counted from the part's first output and input.
struct PartPiece {
  std::int64_t output = 0;
  std::int64_t outputs = 0;
  std::int64_t input = 0;
  std::int64_t inputs = 0;
};

/// Returns the range of bytes in which rows of an embedding's table lie in its tensor.
[[nodiscard]] Extent bytes_of_rows(const CheckpointTensor& table, const Extent& rows);

/// The range of bytes of a piece in its tensor, from the first of its numbers to the last.
struct PieceBytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
[[nodiscard]] PieceBytes place_of(const MatrixPart& part, const PartPiece& piece);

/// Return how much of a part is read at once, some MiB. If a part's inputs are contiguous: outputs,
/// in whole panels. If a part is transposed in its tensor: inputs, in whole blocks.
[[nodiscard]] std::int64_t outputs_at_once(const MatrixPart& part);
[[nodiscard]] std::int64_t inputs_at_once(const MatrixPart& part);

/// Reads a program's matrices from their checkpoint, piece by piece, through its own buffer, which
/// is as large as the largest piece. Owner only: each thread has one.
class PartReader {
 public:
  /// `stop` ends a load.
  explicit PartReader(std::stop_token stop = {}) : stop_(std::move(stop)) {}

  /// From now on serving threads can run between two pieces (BackgroundPace).
  void give_way() noexcept { gives_way_ = true; }
  /// Call it before a piece; read() calls it itself. Both throw as throw_if_stopped().
  void begin_piece();

  /// Returns a piece, valid until the next call. It is one read of all bytes from the piece's first
  /// to its last; blocks are whole. Errors of CheckpointTensor::read_blocks().
  [[nodiscard]] Result<SourceMatrix> read(const MatrixPart& part, const PartPiece& piece);

  /// Reads the piece in the inputs' own order. If the tensor has another order, the piece must be
  /// whole rows, and it becomes f32.
  [[nodiscard]] Result<SourceMatrix> read_in_order(const MatrixPart& part, const PartPiece& piece);

 private:
  std::stop_token stop_;
  bool gives_way_ = false;
  std::optional<BackgroundPace> pace_;  // set once it gives way and has begun
  std::vector<std::byte> buffer_;
  std::vector<float> row_;
  std::vector<float> ordered_;
};

}  // namespace weft
