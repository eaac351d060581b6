#include "weft/kernels/gradients/activation_slope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

float logistic(float x) { return 1.0F / (1.0F + std::exp(-x)); }

/// x * sigmoid(factor * x).
ActivationPoint swish_at(float factor, float x) {
  const float gate = logistic(factor * x);
  return {x * gate, gate + factor * x * gate * (1 - gate)};
}

ActivationPoint gelu_at(float x) {
  const float part = 0.5F * std::erfc(-x * std::numbers::sqrt2_v<float> / 2);
  const float density =
      std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
  return {x * part, part + x * density};
}

// 0.5 (1 + tanh u) is the sigmoid of 2u.
ActivationPoint gelu_tanh_at(float x) {
  constexpr float kTwice = 1.5957691216057308F;  // 2 sqrt(2 / pi)
  constexpr float kCubic = 0.044715F;
  const float gate = logistic(kTwice * x * (1 + kCubic * x * x));
  const float inner = kTwice * (1 + 3 * kCubic * x * x);
  return {x * gate, gate + x * gate * (1 - gate) * inner};
}

ActivationPoint xielu_at(const XieluSpec& spec, float x) {
  if (x > 0) return {spec.positive * x * x + spec.slope * x, 2 * spec.positive * x + spec.slope};
  const float curve = std::expm1(std::min(x, spec.bound)) - x;
  const float bend = x < spec.bound ? std::exp(x) - 1 : -1.0F;
  return {spec.negative * curve + spec.slope * x, spec.negative * bend + spec.slope};
}

}  // namespace

ActivationPoint activation_at(Activation activation, const XieluSpec& xielu, float x) {
  switch (activation) {
    case Activation::kNone:
      return {x, 1};
    case Activation::kSilu:
      return swish_at(1, x);
    case Activation::kGelu:
      return gelu_at(x);
    case Activation::kGeluTanh:
      return gelu_tanh_at(x);
    case Activation::kGeluQuick:
      return swish_at(1.702F, x);
    case Activation::kRelu:
      return x > 0 ? ActivationPoint{x, 1} : ActivationPoint{0, 0};
    case Activation::kReluSquared:
      return x > 0 ? ActivationPoint{x * x, 2 * x} : ActivationPoint{0, 0};
    case Activation::kSigmoid: {
      const float value = logistic(x);
      return {value, value * (1 - value)};
    }
    case Activation::kTanh: {
      const float value = std::tanh(x);
      return {value, 1 - value * value};
    }
    case Activation::kSoftplus:
      return {std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))), logistic(x)};
    case Activation::kXielu:
      return xielu_at(xielu, x);
  }
  return {x, 1};
}

}  // namespace weft
