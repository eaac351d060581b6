#pragma once

#include "weft/kernels/activation.h"

namespace weft {

/// The attributes of a linear op: what becomes of the sums of its product. One struct for the spec
/// reader, the program, the host and the devices; linear.h states the formula.
struct LinearSpec {
  Activation activation = Activation::kNone;
  XieluSpec xielu{};     ///< of that activation
  float soft_cap = 0;    ///< c * tanh(x / c) when c > 0 (Gemma 2, Grok); not with a gated weight
  float scale = 1;       ///< multiplies the result before the residual is added
  float gate_limit = 0;  ///< gated: gate to at most c, up to [-c, c] when c > 0 (gpt-oss)
  float up_offset = 0;   ///< gated: is added to up (gpt-oss has 1)
  float gate_alpha = 0;  ///< gated: when not 0, act(x) is x * sigmoid(alpha * x) (gpt-oss)
  friend bool operator==(const LinearSpec&, const LinearSpec&) = default;
};

}  // namespace weft
