#pragma once

#include "weft/kernels/activation.h"

namespace weft {

/// An activation function's value and derivative at one number.
struct ActivationPoint {
  float value = 0;
  float slope = 1;
};

/// At a kink (kRelu at 0) returns the slope of the left side, as PyTorch does.
[[nodiscard]] ActivationPoint activation_at(Activation activation, const XieluSpec& xielu, float x);

}  // namespace weft
