#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/dtype.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/open_model.h"
#include "weft/model/program/program.h"

namespace weft {

/// The sizes of a model of Llama's family, or of another family below.
struct LlamaShape {
  /// The family whose tensor names it has. Mixtral and Qwen3-MoE have experts instead of the MLP,
  /// and Qwen3-MoE also has norms on queries and keys. Falcon has attention in parallel with an MLP
  /// without a gate, and uses its embeddings as its head.
  enum class Family : std::uint8_t { kLlama, kMixtral, kQwen3Moe, kFalcon };

  std::int64_t layers = 2;
  std::int64_t hidden = 64;
  std::int64_t ffn = 96;  ///< an expert's if there are experts
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t vocabulary = 80;
  std::int64_t context = 256;
  /// Type of matrices: bf16, f32, or an encoding whose blocks divide their rows.
  DType weights = DType::kBF16;
  Family family = Family::kLlama;
  std::int64_t head_size = 0;  ///< 0 = hidden / heads
  std::int64_t experts = 0;    ///< experts of every layer, in the families with experts
  std::int64_t chosen = 0;     ///< experts that a token chooses
};

/// The shape of TinyLlama-1.1B.
inline constexpr LlamaShape kTinyLlama{.layers = 22,
                                       .hidden = 2048,
                                       .ffn = 5632,
                                       .heads = 32,
                                       .kv_heads = 4,
                                       .vocabulary = 32000,
                                       .context = 2048};
/// The shape of Llama-2-7B.
inline constexpr LlamaShape kLlama7B{.layers = 32,
                                     .hidden = 4096,
                                     .ffn = 11008,
                                     .heads = 32,
                                     .kv_heads = 32,
                                     .vocabulary = 32000,
                                     .context = 4096};

/// Returns a named shape, such as "llama-2-7b"; none if no shape has the name.
[[nodiscard]] std::optional<LlamaShape> find_llama_shape(std::string_view name);
/// Returns "llama-110m, tinyllama-1.1b, ...", from the smallest.
[[nodiscard]] std::string llama_shape_names();

/// A llama with random weights, of any size, and its program. It is for measuring steps, whose time
/// does not depend on the weights' values unless these are zeros. Its matrices are windows of one
/// run of random numbers, each at its own offset, so the checkpoint is hardly larger than its
/// largest tensor. Immutable.
class RandomLlama {
 public:
  RandomLlama(const LlamaShape& shape, std::uint32_t seed);

  [[nodiscard]] const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const std::shared_ptr<const Program>& program() const { return program_; }
  /// Returns the model in the form of open_model().
  [[nodiscard]] OpenedModel opened() const {
    return {checkpoint_, program_, "random", architecture_};
  }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Architecture> architecture_;
  std::shared_ptr<const Program> program_;
};

}  // namespace weft
