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

/// The sizes of a model of Llama's family, or of another that is named.
struct LlamaShape {
  /// The family whose tensor names it has. Mixtral and Qwen3-MoE have experts in place of the MLP,
  /// the latter norms on queries and keys too; Falcon has attention and an MLP without a gate side
  /// by side, and its embeddings as its head.
  enum class Family : std::uint8_t { kLlama, kMixtral, kQwen3Moe, kFalcon };

  std::int64_t layers = 2;
  std::int64_t hidden = 64;
  std::int64_t ffn = 96;  ///< of an expert where there are some
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t vocabulary = 80;
  std::int64_t context = 256;
  DType weights = DType::kBF16;  ///< of matrices: bf16, f32, or an encoding that divides them
  Family family = Family::kLlama;
  std::int64_t head_size = 0;  ///< 0 = hidden / heads
  std::int64_t experts = 0;    ///< of every layer, in the families that have some
  std::int64_t chosen = 0;     ///< of them for a token
};

/// TinyLlama-1.1B's.
inline constexpr LlamaShape kTinyLlama{.layers = 22,
                                       .hidden = 2048,
                                       .ffn = 5632,
                                       .heads = 32,
                                       .kv_heads = 4,
                                       .vocabulary = 32000,
                                       .context = 2048};
/// Llama-2-7B's.
inline constexpr LlamaShape kLlama7B{.layers = 32,
                                     .hidden = 4096,
                                     .ffn = 11008,
                                     .heads = 32,
                                     .kv_heads = 32,
                                     .vocabulary = 32000,
                                     .context = 4096};

/// A named shape, such as "llama-2-7b"; none when no shape has the name.
[[nodiscard]] std::optional<LlamaShape> find_llama_shape(std::string_view name);
/// "llama-110m, tinyllama-1.1b, ...", from the smallest.
[[nodiscard]] std::string llama_shape_names();

/// A llama with random weights, of any size, and its program: for measuring steps, whose time does
/// not depend on the weights' values, as long as these are no zeros. Its matrices are windows of
/// one run of random numbers, each at an offset of its own: the checkpoint of a model is hardly
/// larger than its largest tensor. Immutable.
class RandomLlama {
 public:
  RandomLlama(const LlamaShape& shape, std::uint32_t seed);

  [[nodiscard]] const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const std::shared_ptr<const Program>& program() const { return program_; }
  /// As open_model() gives one.
  [[nodiscard]] OpenedModel opened() const {
    return {checkpoint_, program_, "random", architecture_};
  }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Architecture> architecture_;
  std::shared_ptr<const Program> program_;
};

}  // namespace weft
