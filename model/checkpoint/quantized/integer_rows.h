#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/model/checkpoint/quantized/assembled_source.h"
#include "weft/model/checkpoint/quantized/planes.h"

namespace weft {

/// The bits that packed codes can have.
inline constexpr std::array<std::int64_t, 4> kCodeBits = {2, 3, 4, 8};

/// A weight as scale * (code - zero): the places of its codes, scales and zeros.
struct IntegerWeight {
  int bits = 4;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  CodePlane codes = {};
  ScalePlane scales = {};  ///< its columns are the groups
  /// Empty: the zero is the middle, for example 8 with 4 bits.
  std::optional<CodePlane> zeros = {};
  int zero_offset = 0;     ///< is added to zeros, without a carry
  float scale_factor = 1;  ///< multiplies the scales, in f32
  /// If a group's inputs are not neighbours: the input at each place, in an order that makes them
  /// neighbours. Null: the natural order.
  std::shared_ptr<const std::vector<std::int32_t>> order = {};
};

/// Returns the tensor `name`, whose rows are computed from the weight, in an encoding whose groups
/// divide the weight's groups. kUnsupportedFormat if there is none.
[[nodiscard]] Result<CheckpointTensor> integer_tensor(std::string name, IntegerWeight weight);

/// Returns the greatest block length (32, 64, 128, 256) that divides both; 0 if none does.
[[nodiscard]] std::int64_t block_length(std::int64_t group, std::int64_t inputs) noexcept;

/// Computes `order` of a weight from its inputs' groups, an i32 tensor [inputs]: null if groups are
/// contiguous. kBadCheckpoint if groups differ in size, or if a number is no group's.
[[nodiscard]] Result<std::shared_ptr<const std::vector<std::int32_t>>> order_by_group(
    const CheckpointTensor& group_of, std::int64_t inputs, std::int64_t groups);

}  // namespace weft
