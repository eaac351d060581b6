#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/model/quantize/quantize_plan.h"

namespace weft {

/// The weight of each input's squared error, by tensor name. Stacked experts have the numbers of
/// all experts in order.
using ImportanceMap = std::map<std::string, std::vector<float>, std::less<>>;

/// Rows [first, first + count) of a tensor. A tensor without dimensions has one row.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

[[nodiscard]] std::int64_t row_numbers(const CheckpointTensor& tensor);
/// Returns the bytes of one of the tensor's rows in a type. Rows without whole blocks are a bug of
/// the caller: internal_error.
[[nodiscard]] std::int64_t row_bytes(const CheckpointTensor& tensor, DType dtype);

/// Converts rows of tensors to bytes of the planned types. Owner only: each thread has one.
class RowEncoder {
 public:
  /// `importance` is borrowed; null: all weights count alike.
  explicit RowEncoder(const ImportanceMap* importance) : importance_(importance) {}

  /// Fills `out` with the rows in the type `tensor.dtype`. kCannotQuantize names the tensor
  /// and row of a number that the type cannot hold, or the tensor whose importance has another
  /// length; errors of read_values().
  [[nodiscard]] Result<void> encode(const PlannedTensor& tensor, RowRange rows,
                                    std::span<std::byte> out);

 private:
  /// Encodes numbers_[index * row ...], which is row `number` of its tensor; returns false if a
  /// number does not fit.
  [[nodiscard]] Result<bool> encode_row(const PlannedTensor& tensor, std::int64_t index,
                                        std::int64_t number, std::byte* to) const;
  /// Returns null if the tensor has none.
  [[nodiscard]] Result<const float*> importance_for(const CheckpointTensor& tensor,
                                                    std::int64_t number) const;

  const ImportanceMap* importance_;
  std::vector<float> numbers_;
};

}  // namespace weft
