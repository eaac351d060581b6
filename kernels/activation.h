#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// The pointwise functions of the models. Each agrees with float64 to 4 units in the last place of
/// float32 relative to max(|x|, |f(x)|).
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
};

/// For people.
[[nodiscard]] std::string_view to_string(Activation activation) noexcept;

}  // namespace weft
