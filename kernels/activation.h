#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// The activation functions of the models. Each agrees with float64 to 4 units in the last place
/// of float32 relative to max(|x|, |f(x)|).
enum class Activation : std::uint8_t {
  kNone,
  kSilu,       ///< x * sigmoid(x)
  kGelu,       ///< x * Phi(x), with erf
  kGeluTanh,   ///< the tanh approximation: gelu_new, gelu_pytorch_tanh, gelu_fast
  kGeluQuick,  ///< x * sigmoid(1.702 x)
  kRelu,
  kReluSquared,  ///< max(x, 0)^2
  kSigmoid,
  kTanh,
  kSoftplus,  ///< ln(1 + e^x)
  kXielu,     ///< xIELU with the numbers of XieluSpec
};

/// The numbers of xIELU (arXiv 2411.13010), which a model learns for each layer:
/// positive x^2 + slope x for x > 0, else negative (e^min(x, bound) - 1 - x) + slope x.
struct XieluSpec {
  float positive = 0.8F;
  float negative = 0.8F;
  float slope = 0.5F;
  float bound = -1e-6F;
  friend bool operator==(const XieluSpec&, const XieluSpec&) = default;
};

/// Returns a name for messages.
[[nodiscard]] std::string_view to_string(Activation activation) noexcept;

}  // namespace weft
