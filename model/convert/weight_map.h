#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"

namespace weft {

/// Units of a tensor, and the places of their numbers in another tensor; offset and strides in
/// numbers.
struct UnitRun {
  std::int64_t first = 0;  ///< first unit in the tensor that is made
  std::int64_t count = 0;
  const CheckpointTensor* tensor = nullptr;
  std::int64_t offset = 0;
  std::int64_t unit_stride = 0;
  std::int64_t number_stride = 1;
  friend bool operator==(const UnitRun&, const UnitRun&) = default;
};

/// The pieces from which a tensor is made.
struct UnitMap {
  std::int64_t length = 1;    ///< numbers in a unit: a matrix's row, or one number of a vector
  float offset = 0;           ///< is added to each number
  std::vector<UnitRun> runs;  ///< sorted by first unit; they cover the tensor
};

/// Maps by the names of the tensors to be made.
using WeightMap = std::map<std::string, UnitMap, std::less<>>;

/// For each tensor that `to` reads, finds where its numbers are among the tensors that `from`
/// reads. Both must compute the same: the same ops with the same attributes, except for the order
/// of rotated pairs in heads, the offsets of norms' weights and the first position.
/// kUnsupportedFormat names the first op that differs, and how it would be read.
[[nodiscard]] Result<WeightMap> map_weights(const Program& from, const Program& to);

}  // namespace weft
