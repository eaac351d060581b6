#pragma once

#include <algorithm>
#include <cmath>

#include "weft/kernels/activation.h"

namespace weft::test {

/// Activations in float64, as their definitions spell them; NaN stays NaN.
inline double activate(Activation activation, const XieluSpec& xielu, double x) {
  const auto sigmoid = [](double y) { return 1 / (1 + std::exp(-y)); };
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluQuick:
      return x * sigmoid(1.702 * x);
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kReluSquared:
      return x < 0 ? 0 : x * x;
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Activation::kXielu: {
      const double slope = xielu.slope;
      if (x > 0) return xielu.positive * x * x + slope * x;
      return (std::expm1(std::min(x, double{xielu.bound})) - x) * xielu.negative + slope * x;
    }
  }
  return x;
}

}  // namespace weft::test
