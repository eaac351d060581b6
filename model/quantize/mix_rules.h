#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/model/quantize/mix.h"

namespace weft {

/// The facts about a model on which llama.cpp's choice of types depends.
struct MixModel {
  std::string architecture;  ///< general.architecture
  std::int64_t layers = 0;
  std::int64_t experts = 0;
  std::int64_t queries_per_kv_head = 1;  ///< in the first layer; 0: it has no KV heads
  bool is_70b = false;  ///< llama.cpp treats the model as one of 70 billion parameters
};

/// Reads a GGUF file's flat metadata (Checkpoint::config()).
[[nodiscard]] MixModel mix_model(const boost::json::value& config);

/// A tensor with its name in GGUF files.
struct MixTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< outermost first
};

struct MixChoice {
  MixId mix = MixId::kQ4_K_M;
  bool pure = false;            ///< every tensor gets the mix's own type, without rules (--pure)
  bool has_importance = false;  ///< there is an importance matrix
};

/// Returns the type that llama-quantize gives each tensor of a model, by the tensor's name. Tensors
/// that keep their type, such as norms and routers, are not in the map. (llama.cpp's
/// llama-quant.cpp of llama-cpp-python 0.3.36; the rules are the table in mix_rules.cc.)
[[nodiscard]] std::map<std::string, DType, std::less<>> mix_types(
    const MixChoice& choice, const MixModel& model, std::span<const MixTensor> tensors);

/// Returns whether llama-quantize makes this type of this tensor only with an importance matrix:
/// without one the result would be noise. False for embedding and head.
[[nodiscard]] bool needs_importance(MixId mix, std::string_view tensor, DType dtype) noexcept;

}  // namespace weft
