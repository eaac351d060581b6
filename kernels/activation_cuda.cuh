#pragma once

#include "weft/kernels/linear/linear_spec.h"

/// The functions of activation.h, and the steps of a LinearSpec that follow a sum, on a GPU.
namespace weft::cuda {

__device__ inline float sigmoid(float x) { return 1.0F / (1.0F + expf(-x)); }

/// `xielu` is read only if `activation` is kXielu.
__device__ inline float activate(Activation activation, const XieluSpec& xielu, float x) {
  // The usual activations come first: the switch's jump through a table costs more than they do.
  if (activation == Activation::kNone) return x;
  if (activation == Activation::kSilu) return x * sigmoid(x);
  switch (activation) {
    case Activation::kGelu:
      return x * normcdff(x);
    case Activation::kGeluTanh:
      // 0.5 (1 + tanh u) is the sigmoid of 2u; here 2 sqrt(2 / pi) (x + 0.044715 x^3).
      return x * sigmoid(1.5957691216057308F * x * (1.0F + 0.044715F * x * x));
    case Activation::kGeluQuick:
      return x * sigmoid(1.702F * x);
    case Activation::kRelu:
      return x < 0 ? 0.0F : x;
    case Activation::kReluSquared:
      return x < 0 ? 0.0F : x * x;
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kTanh:
      return tanhf(x);
    case Activation::kSoftplus:
      // This form keeps NaN.
      return (x < 0 ? 0.0F : x) + log1pf(expf(-fabsf(x)));
    case Activation::kXielu:
      return x > 0 ? x * (xielu.positive * x + xielu.slope)
                   : xielu.negative * (expm1f(fminf(x, xielu.bound)) - x) + xielu.slope * x;
    default:
      break;
  }
  return x;
}

/// Returns a sum, which includes its bias, after activation and soft cap but before the scale.
__device__ inline float plain_output(const LinearSpec& spec, float sum) {
  const float value = activate(spec.activation, spec.xielu, sum);
  return spec.soft_cap > 0 ? spec.soft_cap * tanhf(value / spec.soft_cap) : value;
}

/// Combines the two sums of a gated product, which include their biases, to one number before the
/// scale.
__device__ inline float gated_output(const LinearSpec& spec, float gate, float up) {
  const float limit = spec.gate_limit;
  if (limit > 0) {
    // This form keeps NaN.
    gate = gate > limit ? limit : gate;
    up = up > limit ? limit : up;
    up = up < -limit ? -limit : up;
  }
  const float opened = spec.gate_alpha != 0 ? gate * sigmoid(gate * spec.gate_alpha)
                                            : activate(spec.activation, spec.xielu, gate);
  return opened * (up + spec.up_offset);
}

}  // namespace weft::cuda
