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

/// A rectangle of a checkpoint's tensor and where it goes in the program's matrix. Strides and
/// offset are in elements of the tensor.
struct MatrixPart {
  const CheckpointTensor* tensor = nullptr;
  std::int64_t offset = 0;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t stride_output = 0;
  std::int64_t stride_input = 1;
  std::int64_t first_output = 0;
};

/// One weight matrix as a device holds it, [outputs, inputs]; a gated one has 2 * outputs rows.
struct MatrixPlan {
  std::string name;
  DType dtype = DType::kF32;  ///< of all of it; where there are runs, if it must be one type
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool gated = false;
  std::vector<MatrixPart> parts;
  /// Runs where the parts' types differ and a PackedWeight can hold each part's own; else empty.
  std::vector<WeightRun> runs = {};
  /// The input of each column; null: their own order. A part's tensor may have an order when this
  /// is null: then its numbers are decoded and put back in the inputs' order when they are loaded.
  std::shared_ptr<const std::vector<std::int32_t>> input_order = {};

  /// Bytes of the matrix, held in its runs where it has some.
  [[nodiscard]] std::int64_t bytes() const noexcept;
};

/// A run of numbers of a tensor and where it goes in the program's vector.
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
  std::vector<float> values;  ///< when parts is empty
};

/// The meaning of a buffer's rows.
enum class RowKind : std::uint8_t {
  kTokens,   ///< the step's tokens
  kChoices,  ///< token and rank of a chosen expert: T * k
  kOutputs,  ///< the tokens whose logits are wanted
};

/// A float32 [rows, width] buffer. The compilers of blocks make one for each value that an op
/// writes; a thing that several ops change, such as the stream, is several values with one name. At
/// the end share_buffers() lets values use one buffer, and plan_buffers() lets buffers whose lives
/// do not meet share memory: `offset` counts in floats per row (of kTokens and kChoices together:
/// per token; of kOutputs: per output).
struct BufferPlan {
  std::string name;
  RowKind rows = RowKind::kTokens;
  std::int64_t width = 0;
  std::int64_t rows_per_token = 1;
  std::int64_t offset = 0;
  /// Each rank has an addend of the value, for add_sums(); false in a compiled program.
  bool is_part = false;
};

struct KvLayerPlan {
  std::int32_t kv_heads = 0;
  std::int32_t head_size = 0;
};

/// A tensor of the base in a product of an adapted program: an adapter's pair for the tensor
/// changes the product there.
struct AdapterSite {
  const CheckpointTensor* tensor = nullptr;
  MatrixId weight;               ///< of the product
  std::int64_t first_input = 0;  ///< of A [rank, inputs of the tensor], of which a rank has some
  std::int64_t inputs = 0;       ///< of the product, K
  std::int64_t panels = 0;       ///< AdapterRun::panels() of all its runs
};

/// A list of fused ops to run in order, with a barrier between: one stack of the model.
struct OpList {
  std::vector<Op> ops;
  BufferId result = kAbsent;  ///< logits by output, or hidden states by token; a rank's may be none
  std::int64_t floats_per_token = 0;
  std::int64_t floats_per_output = 0;
};

/// A model made ready for any device: what to run, over which buffers, with which weights. Points
/// into the checkpoint that it was compiled from, which must outlive it. Immutable.
struct Program {
  std::string family;
  ProgramPart part;  ///< of the model that it computes
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t context = 0;
  /// In each layer of the whole model a token sees at most so many positions, its own included; 0:
  /// in some layer it sees all.
  std::int64_t window = 0;
  bool has_encoder = false;   ///< `encode` runs before `decode`
  bool has_logits = true;     ///< otherwise `decode` gives hidden states
  bool causal = true;         ///< otherwise `decode` is an encoder, which reads sequences whole
  bool gives_results = true;  ///< of the ranks one does: the first of the last stage
  bool shares_head = false;   ///< with other ranks: `decode` ends with a GatherOp
  OpList encode;              ///< ends with the keys and values for the decoder's cross attention
  OpList decode;
  BufferId hidden_states = kAbsent;  ///< [T, H] that the head is multiplied by
  std::size_t first_head_op = 0;     ///< of decode.ops: from here on they compute logits
  std::vector<BufferPlan> buffers;
  std::vector<MatrixPlan> matrices;
  std::vector<VectorPlan> vectors;
  std::vector<RotaryFrequencies> rotary;
  /// By cache layer; layers that read another layer's keys and values have no cache layer.
  std::vector<KvLayerPlan> self_kv, cross_kv, encoder_kv;
  std::vector<AdapterSite> adapter_sites;  ///< of an adapted program, in the order of its products
  std::vector<AdapterRun> adapter_runs;
  std::int64_t adapter_rank = 0;  ///< the greatest rank of a pair; 0: it computes no adapters
  std::int64_t layers = 0;        ///< of the decoder that are here
  std::int64_t max_experts = 0;   ///< most experts and choices of any layer, 0 = none
  std::int64_t max_chosen = 0;
  std::vector<std::int64_t> end_tokens;
  std::int64_t start_token = -1;
  std::int64_t parameters = 0;              ///< numbers of the checkpoint that it uses, each once
  std::vector<std::string> unused_tensors;  ///< in the checkpoint and not known to the spec

  /// Whether the logits choose the tokens that follow. An encoder's fill in masked tokens.
  [[nodiscard]] bool generates() const noexcept { return has_logits && causal; }
  /// Whether the logits are those of masked tokens.
  [[nodiscard]] bool fills_masks() const noexcept { return has_logits && !causal; }
  [[nodiscard]] std::int64_t weight_bytes() const noexcept;
  /// Bytes that one token of context takes in a KV cache of `dtype` (core/kv_dtype.h).
  [[nodiscard]] std::int64_t kv_bytes_per_token(DType dtype) const noexcept;
};

/// Compiles a model, or a rank's part of it. Parts of a layer that the ranks cannot share (a norm
/// over all heads, blocks that the cut would go through) each rank computes whole. kMissingTensor,
/// kBadTensor (naming tensor and both shapes), kBadConfig.
[[nodiscard]] Result<Program> compile(const Architecture& architecture,
                                      const Checkpoint& checkpoint, const ProgramPart& part = {});

/// One line for each op, with buffers, shapes and weights, for people.
[[nodiscard]] std::string describe(const Program& program);

}  // namespace weft
