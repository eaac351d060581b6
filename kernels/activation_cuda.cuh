#pragma once

#include "weft/kernels/activation.h"

/// The functions of activation.h, and what follows a product, on a GPU.
namespace weft::cuda {

__device__ inline float sigmoid(float x) { return 1.0F / (1.0F + expf(-x)); }

__device__ inline float activate(Activation activation, float x) {
  // The usual ones first: a jump through a table costs more than they do.
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
    default:
      break;
  }
  return x;
}

/// cap * tanh(x / cap) where there is a cap.
__device__ inline float soft_capped(float cap, float x) {
  return cap > 0 ? cap * tanhf(x / cap) : x;
}

/// How a gated product's two halves become one number, as LinearParams states it.
struct Gate {
  Activation activation = Activation::kNone;
  float limit = 0;
  float up_offset = 0;
  float alpha = 0;

  __device__ float operator()(float gate, float up) const {
    if (limit > 0) {
      // Written so that NaN stays NaN.
      gate = gate > limit ? limit : gate;
      up = up > limit ? limit : (up < -limit ? -limit : up);
    }
    const float opened = alpha != 0 ? gate * sigmoid(alpha * gate) : activate(activation, gate);
    return opened * (up + up_offset);
  }
};

}  // namespace weft::cuda
