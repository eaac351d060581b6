#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "weft/kernels/norm/norm_spec.h"

/// A norm in float64, for the host as for CUDA: of rows, and of heads between projection and
/// attention.
namespace weft::test {

/// Norms `numbers` over all of them, in place. `weight` and `bias` have as many numbers; null = 1
/// (then weight_offset does not count) and 0.
inline void norm_reference(const NormSpec& spec, const float* weight, const float* bias,
                           std::span<double> numbers) {
  const auto count = static_cast<double>(numbers.size());
  double mean = 0;
  if (spec.kind == NormKind::kLayer) {
    for (const double number : numbers) mean += number;
    mean /= count;
  }
  double squares = 0;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  const double inverse = 1 / std::sqrt(squares / count + double{spec.eps});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = (numbers[i] - mean) * inverse;
    if (weight != nullptr) numbers[i] *= double{weight[i]} + spec.weight_offset;
    if (bias != nullptr) numbers[i] += bias[i];
  }
}

}  // namespace weft::test
