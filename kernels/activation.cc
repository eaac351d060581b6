#include "weft/kernels/activation.h"

namespace weft {

std::string_view to_string(Activation activation) noexcept {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu tanh";
    case Activation::kGeluQuick:
      return "gelu quick";
    case Activation::kRelu:
      return "relu";
    case Activation::kReluSquared:
      return "relu squared";
    case Activation::kSigmoid:
      return "sigmoid";
    case Activation::kTanh:
      return "tanh";
    case Activation::kSoftplus:
      return "softplus";
    case Activation::kXielu:
      return "xielu";
  }
  return "unknown";
}

}  // namespace weft
