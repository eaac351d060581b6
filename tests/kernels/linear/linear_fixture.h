#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/kernels/linear/linear_reference.h"

/// The linear op of the host beside the same in float64.
namespace weft::test {

inline constexpr double kEps = std::numeric_limits<float>::epsilon();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// So many inputs, filled up to whole blocks.
inline std::int64_t in_blocks(DType dtype, std::int64_t inputs) {
  const std::int64_t block = block_of(dtype).elements;
  return (inputs + block - 1) / block * block;
}

/// Rows with NaN between them and before the first, at an address that is no vector's.
class RowBuffer {
 public:
  RowBuffer(std::int64_t count, std::int64_t width, std::int64_t gap = 3)
      : count_(count),
        width_(width),
        stride_(width + gap),
        numbers_(static_cast<std::size_t>(count * stride_ + 1), kNan) {}

  [[nodiscard]] Rows rows() { return {numbers_.data() + 1, count_, width_, stride_}; }
  [[nodiscard]] float& at(std::int64_t row, std::int64_t column) { return rows().row(row)[column]; }
  void randomize(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t r = 0; r < count_; ++r) {
      for (std::int64_t i = 0; i < width_; ++i) at(r, i) = normal(random);
    }
  }
  [[nodiscard]] bool gaps_are_untouched() {
    for (std::int64_t r = 0; r < count_; ++r) {
      const float* end = rows().row(r) + width_;
      if (!std::all_of(end, end + stride_ - width_, [](float f) { return std::isnan(f); })) {
        return false;
      }
    }
    return std::isnan(numbers_.front());
  }

 private:
  std::int64_t count_;
  std::int64_t width_;
  std::int64_t stride_;
  std::vector<float> numbers_;
};

struct alignas(64) Line {
  std::array<std::byte, 64> bytes;
};

/// A thread's workspace for one product.
class Workspace {
 public:
  explicit Workspace(const LinearParams& params)
      : bytes_(linear_workspace_bytes(params.out.count, params.in.width)),
        memory_((bytes_ + 63) / 64) {}

  void spoil() { std::memset(memory_.data(), 0xff, bytes_); }
  [[nodiscard]] std::span<std::byte> bytes() {
    return {reinterpret_cast<std::byte*>(memory_.data()), bytes_};
  }

 private:
  std::size_t bytes_;
  std::vector<Line> memory_;
};

/// Runs the op as `threads` threads would, each with a workspace full of NaN, in descending order.
inline void run(const LinearParams& params, int threads = 1) {
  Workspace workspace(params);
  for (int index = threads - 1; index >= 0; --index) {
    workspace.spoil();
    linear(params, {.index = index, .count = threads}, workspace.bytes());
  }
}

/// Whether a target multiplies and adds with one rounding. Every processor of ARM64 does.
constexpr bool fuses([[maybe_unused]] CpuTarget target) {
#if defined(__x86_64__)
  return target != CpuTarget::kPortable;
#else
  return true;
#endif
}

/// Whether a target multiplies plain weights, or weights by their codes, as no poorer target does:
/// VNNI, SDOT and SMMLA are for codes alone, VDPBF16PS and BFMMLA for bf16.
constexpr bool has_own_plain_product(CpuTarget target) {
  return target != CpuTarget::kNeonDot && target != CpuTarget::kNeonI8mm &&
         target != CpuTarget::kAvx2Vnni && target != CpuTarget::kAvx512Vnni;
}
inline bool has_own_product(DType dtype) {
  if (multiplies_codes(dtype)) {
    return cpu_target() != CpuTarget::kAvx512Bf16 && cpu_target() != CpuTarget::kNeonBf16;
  }
  return has_own_plain_product(cpu_target());
}

inline PackedWeight pack_as(DType dtype, const RandomMatrix& matrix, bool gated) {
  const std::int64_t outputs = gated ? matrix.outputs() / 2 : matrix.outputs();
  auto weight = PackedWeight::allocate(dtype, outputs, matrix.inputs(), gated);
  EXPECT_TRUE(weight) << to_string(weight.error());
  weight->fill(0, matrix.source());
  return std::move(*weight);
}

inline PackedWeight pack(const RandomMatrix& matrix, bool gated = false) {
  return pack_as(matrix.dtype(), matrix, gated);
}

/// A row as it is multiplied: rounded where the processor multiplies narrower numbers.
inline std::vector<double> as_multiplied(const float* row, const RandomMatrix& weight) {
  const bool narrow = multiplies_bf16(cpu_target());
  constexpr std::int64_t kBlock = 32;
  std::vector<double> inputs;
  for (std::int64_t i = 0; i < weight.inputs(); ++i) {
    if (narrow && weight.dtype() == DType::kBF16) {
      inputs.push_back(from_bf16(to_bf16(row[i])));
    } else if (multiplies_codes(weight.dtype())) {
      const float* block = row + i / kBlock * kBlock;
      float most = 0;
      for (std::int64_t j = 0; j < kBlock; ++j) most = std::max(most, std::abs(block[j]));
      const float code = most == 0 ? 0 : std::nearbyint(row[i] * (127 / most));
      inputs.push_back(static_cast<double>(code) * static_cast<double>(most / 127));
    } else {
      inputs.push_back(row[i]);
    }
  }
  return inputs;
}

/// A sum in float64, and how far float32 may be from it: rounding errors of a chain of K additions
/// walk at random, some 0.35 eps sqrt(K) of the products' norm.
struct Sum {
  double value = 0;
  double tolerance = 0;
};

inline Sum reference(const std::vector<double>& inputs, const RandomMatrix& weight,
                     std::int64_t output) {
  Sum sum;
  double squares = 0;
  for (std::int64_t i = 0; i < weight.inputs(); ++i) {
    const double product = inputs[static_cast<std::size_t>(i)] * weight.at(output, i);
    sum.value += product;
    squares += product * product;
  }
  sum.tolerance =
      2 * kEps * (4 + std::sqrt(static_cast<double>(weight.inputs()))) * std::sqrt(squares);
  return sum;
}

/// The op's output for a sum (gated: two sums), in float64.
inline double finish(const LinearParams& params, double gate, double up, std::int64_t row,
                     std::int64_t output) {
  const bool gated = params.weight->gated();
  const std::int64_t outputs = params.weight->outputs();
  const auto bias = [&](std::int64_t i) { return params.bias == nullptr ? 0.0 : params.bias[i]; };
  const double value = after_product(params.spec, gated, gate + bias(output),
                                     gated ? up + bias(outputs + output) : 0.0);
  return params.residual.data == nullptr ? value : value + params.residual.row(row)[output];
}

/// Compares `out` with float64; reports the largest ratio of an error to its limit, and its place.
inline testing::AssertionResult agrees(const LinearParams& params, const RandomMatrix& weight) {
  double worst = 0;
  std::string place;
  for (std::int64_t r = 0; r < params.out.count; ++r) {
    const std::int64_t in_row =
        params.input_rows.empty() ? r : params.input_rows[static_cast<std::size_t>(r)];
    const std::vector<double> inputs = as_multiplied(params.in.row(in_row), weight);
    for (std::int64_t o = 0; o < params.out.width; ++o) {
      const Sum gate = reference(inputs, weight, o);
      const Sum up =
          params.weight->gated() ? reference(inputs, weight, params.out.width + o) : Sum();
      const double expected = finish(params, gate.value, up.value, r, o);
      double allowed = 0;
      for (const double g : {-gate.tolerance, gate.tolerance}) {
        for (const double u : {-up.tolerance, up.tolerance}) {
          const double moved = finish(params, gate.value + g, up.value + u, r, o);
          allowed = std::max(allowed, std::abs(moved - expected));
        }
      }
      const double size = std::max({std::abs(expected), std::abs(gate.value), 1.0});
      allowed += gate.tolerance + 8 * kEps * size * std::max(1.0, std::abs(up.value));
      const double error = std::abs(params.out.row(r)[o] - expected);
      if (!(error / allowed <= worst)) {
        worst = std::isnan(error) ? HUGE_VAL : error / allowed;
        place = "row " + std::to_string(r) + " output " + std::to_string(o) + ": " +
                std::to_string(params.out.row(r)[o]) + " for " + std::to_string(expected);
      }
    }
  }
  if (worst <= 1) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "worst error is " << worst << " of the allowed, at " << place << "; weight "
         << to_string(weight.dtype()) << " [" << weight.outputs() << ", " << weight.inputs()
         << "], T = " << params.out.count << ", " << to_string(cpu_target());
}

}  // namespace weft::test
