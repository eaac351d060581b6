#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"

namespace weft::cuda {

/// A matrix of bf16 on both sides.
class PlainMatrix {
 public:
  PlainMatrix(std::int64_t outputs, std::int64_t inputs, bool gated, std::mt19937& random)
      : bits_(numbers(outputs, inputs, gated, random)) {
    matrix_.outputs = outputs;
    matrix_.inputs = inputs;
    matrix_.gated = gated;
    matrix_.stride = stride_of(inputs);
  }

  [[nodiscard]] DeviceMatrix on(bool device) {
    DeviceMatrix made = matrix_;
    made.data = reinterpret_cast<const std::byte*>(device ? bits_.device() : bits_.host.data());
    return made;
  }

 private:
  static std::int64_t stride_of(std::int64_t inputs) { return (inputs + 63) / 64 * 64; }

  static std::vector<std::uint16_t> numbers(std::int64_t outputs, std::int64_t inputs, bool gated,
                                            std::mt19937& random) {
    DeviceMatrix shape;
    shape.outputs = outputs;
    shape.gated = gated;
    const std::int64_t stride = stride_of(inputs);
    std::vector<std::uint16_t> all(static_cast<std::size_t>(shape.rows() * stride));
    std::uniform_real_distribution<float> draw(-1, 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (static_cast<std::int64_t>(i) % stride < inputs) all[i] = to_bf16(draw(random) / 8);
    }
    return all;
  }

  DeviceMatrix matrix_;
  Mirror<std::uint16_t> bits_;
};

}  // namespace weft::cuda
