#pragma once

#include "weft/kernels/activation.h"

namespace weft {

/// The attributes of a linear op: the steps after its product (linear.h has the formula). The spec
/// reader, the program, the host and the devices share this struct.
struct LinearSpec {
  Activation activation = Activation::kNone;
  XieluSpec xielu{};     ///< used with Activation::kXielu
  float soft_cap = 0;    ///< c * tanh(x / c) when c > 0 (Gemma 2, Grok); not with a gated weight
  float scale = 1;       ///< multiplies the result before the residual is added
  float gate_limit = 0;  ///< c > 0, gated: limits gate to at most c, up to [-c, c] (gpt-oss)
  float up_offset = 0;   ///< gated: added to up (gpt-oss has 1)
  float gate_alpha = 0;  ///< gated: when not 0, act(x) is x * sigmoid(alpha * x) (gpt-oss)
  friend bool operator==(const LinearSpec&, const LinearSpec&) = default;
};

}  // namespace weft
