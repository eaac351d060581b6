#pragma once

#include <span>

namespace weft {

/// Replaces each number x of a row by e^x / (the sum of e^x over the row), and returns the
/// logarithm of that sum. A row without a number above -infinity becomes zeros, with -infinity. An
/// empty row gives -infinity. Sums are in float32 over lanes in a fixed order.
[[nodiscard]] float softmax_row(std::span<float> row);

}  // namespace weft
