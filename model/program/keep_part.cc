#include "weft/model/program/keep_part.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// Returns the common part of two runs; its count is 0 or less if there is none.
Extent common(const Extent& a, const Extent& b) {
  const std::int64_t first = std::max(a.first, b.first);
  return {first, std::min(a.end(), b.end()) - first};
}

std::int64_t count_of(std::span<const Extent> extents) {
  std::int64_t count = 0;
  for (const Extent& extent : extents) count += extent.count;
  return count;
}

void keep_outputs(MatrixPlan& matrix, std::span<const Extent> kept) {
  std::vector<MatrixPart> parts;
  std::int64_t to = 0;
  for (const Extent& extent : kept) {
    for (const MatrixPart& part : matrix.parts) {
      const Extent both = common(extent, {part.first_output, part.outputs});
      if (both.count <= 0) continue;
      MatrixPart& own = parts.emplace_back(part);
      own.offset += (both.first - part.first_output) * part.stride_output;
      own.outputs = both.count;
      own.first_output = to + both.first - extent.first;
    }
    to += extent.count;
  }
  matrix.parts = std::move(parts);
}

}  // namespace

std::vector<Extent> in_both_halves(std::span<const Extent> outputs, std::int64_t size) {
  std::vector<Extent> both(outputs.begin(), outputs.end());
  for (const Extent& extent : outputs) both.push_back({size + extent.first, extent.count});
  return both;
}

void keep_part(MatrixPlan& matrix, const KeptPart& kept) {
  if (!kept.outputs.empty()) {
    keep_outputs(matrix,
                 matrix.gated ? in_both_halves(kept.outputs, matrix.outputs) : kept.outputs);
    matrix.outputs = count_of(kept.outputs);
  }
  if (!kept.inputs) return;
  for (MatrixPart& part : matrix.parts) {
    part.offset += kept.inputs->first * part.stride_input;
    part.inputs = kept.inputs->count;
  }
  matrix.inputs = kept.inputs->count;
}

void keep_numbers(VectorPlan& vector, std::span<const Extent> kept) {
  std::vector<VectorPart> parts;
  std::vector<float> values;
  std::int64_t to = 0;
  for (const Extent& extent : kept) {
    for (const VectorPart& part : vector.parts) {
      const Extent both = common(extent, {part.first, part.count});
      if (both.count <= 0) continue;
      VectorPart& own = parts.emplace_back(part);
      own.offset += (both.first - part.first) * part.stride;
      own.count = both.count;
      own.first = to + both.first - extent.first;
    }
    if (!vector.values.empty()) {
      const auto first = vector.values.begin() + extent.first;
      values.insert(values.end(), first, first + extent.count);
    }
    to += extent.count;
  }
  vector.parts = std::move(parts);
  vector.values = std::move(values);
  vector.size = to;
}

}  // namespace weft
