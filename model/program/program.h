#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/kernels/adapter/adapter_spec.h"
#include "weft/kernels/linear/packed_layout.h"
#include "weft/model/program/operand.h"
#include "weft/model/program/ops.h"
#include "weft/model/program/program_part.h"
#include "weft/model/program/rotary_frequencies.h"

namespace weft {

class Checkpoint;
struct Architecture;
struct CheckpointTensor;

/// A rectangle of a checkpoint's tensor, and its place in the program's matrix. Strides and offset
/// are in elements of the tensor.
struct MatrixPart {
  const CheckpointTensor* tensor = nullptr;
  std::int64_t offset = 0;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t stride_output = 0;
  std::int64_t stride_input = 1;
  std::int64_t first_output = 0;
};

/// One weight matrix as a device holds it, [outputs, inputs]. A gated matrix has 2 * outputs rows.
struct MatrixPlan {
  std::string name;
  DType dtype = DType::kF32;  ///< type of the whole matrix; with runs, the type if it must be one
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool gated = false;
  std::vector<MatrixPart> parts;
  /// Not empty if the parts' types differ and a PackedWeight can hold each part's own type.
  std::vector<WeightRun> runs = {};
  /// The input of each column; null: the natural order. If it is null although a part's tensor has
  /// an order, the part's numbers are decoded and put in the natural order when they are loaded.
  std::shared_ptr<const std::vector<std::int32_t>> input_order = {};

  /// Returns the bytes of the matrix, held in its runs if it has any.
  [[nodiscard]] std::int64_t bytes() const noexcept;
};

/// A run of numbers of a tensor, and its place in the program's vector.
struct VectorPart {
  const CheckpointTensor* tensor = nullptr;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  std::int64_t stride = 1;
  std::int64_t first = 0;
};

/// A float32 vector or small table: from the checkpoint, or computed (ALiBi slopes, sinusoids).
struct VectorPlan {
  std::string name;
  std::int64_t size = 0;
  std::vector<VectorPart> parts;
  std::vector<float> values;  ///< set if parts is empty
};

/// The meaning of a buffer's rows.
enum class RowKind : std::uint8_t {
  kTokens,   ///< the step's tokens
  kChoices,  ///< token and rank of a chosen expert: T * k
  kOutputs,  ///< the tokens whose logits are wanted
};

/// A float32 [rows, width] buffer. The compilers of blocks make a buffer for each value that an op
/// writes. Something that several ops change, such as the stream, is several values with one name.
/// At the end share_buffers() lets values use one buffer, and plan_buffers() lets buffers with
/// disjoint lives share memory. `offset` counts floats per row (for kTokens and kChoices together:
/// per token; for kOutputs: per output).
struct BufferPlan {
  std::string name;
  RowKind rows = RowKind::kTokens;
  std::int64_t width = 0;
  std::int64_t rows_per_token = 1;
  std::int64_t offset = 0;
  /// Whether each rank has an addend of the value, for add_sums(); false in a compiled program.
  bool is_part = false;
};

struct KvLayerPlan {
  std::int32_t kv_heads = 0;
  std::int32_t head_size = 0;
};

/// A tensor of the base that a product of an adapted program uses. An adapter's pair for the tensor
/// changes the product.
struct AdapterSite {
  const CheckpointTensor* tensor = nullptr;
  MatrixId weight;  ///< the product's weight
  /// First input of A [rank, inputs of the tensor], since a rank may have some inputs.
  std::int64_t first_input = 0;
  std::int64_t inputs = 0;  ///< inputs of the product, K
  std::int64_t panels = 0;  ///< AdapterRun::panels() of all its runs together
};

/// Fused ops to run in order, with a barrier between them: one stack of the model.
struct OpList {
  std::vector<Op> ops;
  BufferId result = kAbsent;  ///< logits by output, or hidden states by token; a rank may have none
  std::int64_t floats_per_token = 0;
  std::int64_t floats_per_output = 0;
};

/// A model prepared for any device: the ops to run, their buffers and their weights. Points into
/// the checkpoint from which it was compiled, which must outlive it. Immutable.
struct Program {
  std::string family;
  ProgramPart part;  ///< the part of the model that it computes
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t context = 0;
  /// In each layer of the whole model a token sees at most this many positions, its own included.
  /// 0: in some layer it sees all.
  std::int64_t window = 0;
  bool has_encoder = false;   ///< `encode` runs before `decode`
  bool has_logits = true;     ///< false: `decode` returns hidden states
  bool causal = true;         ///< false: `decode` is an encoder, which reads whole sequences
  bool gives_results = true;  ///< true on one rank only: the first of the last stage
  bool shares_head = false;   ///< shared with other ranks: `decode` ends with a GatherOp
  OpList encode;              ///< ends with the keys and values for the decoder's cross attention
  OpList decode;
  BufferId hidden_states = kAbsent;  ///< [T, H], the head's input
  std::size_t first_head_op = 0;     ///< index in decode.ops: the ops from here on compute logits
  std::vector<BufferPlan> buffers;
  std::vector<MatrixPlan> matrices;
  std::vector<VectorPlan> vectors;
  std::vector<RotaryFrequencies> rotary;
  /// By cache layer; layers that read another layer's keys and values have no cache layer.
  std::vector<KvLayerPlan> self_kv, cross_kv, encoder_kv;
  std::vector<AdapterSite> adapter_sites;  ///< an adapted program's, in the order of its products
  std::vector<AdapterRun> adapter_runs;
  /// The greatest rank of a pair; 0: the program computes no adapters.
  std::int64_t adapter_rank = 0;
  std::int64_t layers = 0;       ///< the decoder's layers that are here
  std::int64_t max_experts = 0;  ///< most experts and choices of any layer; 0 = none
  std::int64_t max_chosen = 0;
  std::vector<std::int64_t> end_tokens;
  std::int64_t start_token = -1;
  std::int64_t parameters = 0;  ///< numbers of the checkpoint that the program uses, each once
  /// Tensors in the checkpoint that the spec does not know.
  std::vector<std::string> unused_tensors;

  /// Whether the logits choose the next tokens. An encoder's logits fill in masked tokens.
  [[nodiscard]] bool generates() const noexcept { return has_logits && causal; }
  /// Whether the logits are for masked tokens.
  [[nodiscard]] bool fills_masks() const noexcept { return has_logits && !causal; }
  [[nodiscard]] std::int64_t weight_bytes() const noexcept;
  /// Returns the bytes that one token of context takes in a KV cache of `dtype` (core/kv_dtype.h).
  [[nodiscard]] std::int64_t kv_bytes_per_token(DType dtype) const noexcept;
};

/// Compiles a model, or a rank's part of it. Each rank computes the parts of a layer that cannot be
/// shared (a norm over all heads, blocks that a cut would split) as a whole. kMissingTensor,
/// kBadTensor (naming tensor and both shapes), kBadConfig.
[[nodiscard]] Result<Program> compile(const Architecture& architecture,
                                      const Checkpoint& checkpoint, const ProgramPart& part = {});

/// Returns one line for each op, with buffers, shapes and weights, for people.
[[nodiscard]] std::string describe(const Program& program);

}  // namespace weft
