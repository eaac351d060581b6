#include "weft/model/spec/activation_names.h"

#include "weft/model/spec/spec_values.h"

namespace weft {

Activation activation_of(const SpecTableReader& reader) {
  using enum Activation;
  return reader.choice<Activation>("activation", {{"silu", kSilu},
                                                  {"swish", kSilu},
                                                  {"gelu", kGelu},
                                                  {"gelu_new", kGeluTanh},
                                                  {"gelu_fast", kGeluTanh},
                                                  {"gelu_pytorch_tanh", kGeluTanh},
                                                  {"gelu_pytorch", kGelu},
                                                  {"gelu_python", kGelu},
                                                  {"gelu_python_tanh", kGeluTanh},
                                                  {"gelu_accurate", kGeluTanh},
                                                  {"quick_gelu", kGeluQuick},
                                                  {"relu", kRelu},
                                                  {"relu2", kReluSquared},
                                                  {"relu_squared", kReluSquared},
                                                  {"sigmoid", kSigmoid},
                                                  {"tanh", kTanh},
                                                  {"softplus", kSoftplus},
                                                  {"linear", kNone}});
}

}  // namespace weft
