#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/cuda/step/step_area.h"
#include "weft/gpu/model_device.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// The rows of a TableRows.
struct DeviceTable {
  std::byte* data = nullptr;  ///< in device_type()
  Extent rows;                ///< of the checkpoint's that are here
};

/// What ranks that share the head tell each other in place of their columns of logits. Empty where
/// columns are hardly longer than that, or the ranks more than a choice can be made by.
struct ToldLayout {
  /// By output: on the first rank [ranks][outputs], the first of them its own; else [outputs].
  ToldPart* parts = nullptr;
  std::vector<DeviceRows> rows;  ///< the same by rank, as floats
  std::vector<Extent> columns;   ///< of all, by rank, as they cross the link

  [[nodiscard]] bool can_tell() const noexcept { return !columns.empty(); }
};

/// What there is for adapters that requests choose. Empty where there are no places.
struct AdapterLayout {
  CudaAdapterPlaces places;
  float* sums = nullptr;            ///< CudaAdapterShrinkParams::sums, ProductAdapters::sums
  unsigned* meeting = nullptr;      ///< ProductAdapters::meeting
  std::vector<DeviceRows> buffers;  ///< of the adapted program, by BufferId
};

/// Where all of a model lies in a device's memory, or in host memory that it reaches. Pointers are
/// the device's; null where the layout was made only to be counted.
struct Layout {
  std::vector<DeviceMatrix> matrices;  ///< by MatrixId
  std::vector<float*> vectors;         ///< by VectorId
  std::map<const CheckpointTensor*, DeviceTable> tables;
  std::vector<float*> cosines, sines;  ///< by Program::rotary
  std::vector<DeviceKvLayer> self_kv, cross_kv, encoder_kv;
  PageBlocks* page_blocks = nullptr;  ///< keys and values of each layer of self_kv
  std::vector<DeviceRows> buffers;    ///< by BufferId
  AdapterLayout adapters;
  std::byte* converted = nullptr;  ///< the input of a product in another type, or gathered
  std::byte* decoded = nullptr;    ///< bf16 of an encoded matrix, for one product
  /// The columns of logits that come from other ranks, by rank; its own has no memory. Empty where
  /// none come.
  std::vector<DeviceRows> gathered;
  ToldLayout told;
  std::byte* linear_workspace = nullptr;
  float* squares = nullptr;  ///< NormAfter::squares, of up to kMaxFlatTokens rows
  std::byte* attention_workspace = nullptr;
  std::uint32_t* recomputed = nullptr;  ///< see CudaAttentionParams
  DeviceRouting routing;
  /// By the list in its op: what the device reads for it.
  std::map<const std::vector<MatrixId>*, DeviceMatrix*> matrix_lists;
  std::map<const std::vector<VectorId>*, const float**> vector_lists;

  StepArea step;  ///< what a step uploads
  std::int32_t* page_tables = nullptr;
  TokenId* last_tokens = nullptr;         ///< [slots]
  SampleSettings* settings = nullptr;     ///< [slots]
  SampleLists* lists = nullptr;           ///< [slots]
  std::uint32_t* token_counts = nullptr;  ///< [slots, V]
  float* edited_logits = nullptr;         ///< [choices, V]
  std::uint32_t* masks = nullptr;         ///< [slots, TokenMasks::words(V)]
  std::byte* weights_begin = nullptr;     ///< all that the checkpoint fills lies together
  std::size_t weight_bytes = 0;

  [[nodiscard]] const std::vector<DeviceKvLayer>& kv(KvGroup group) const;
};

/// The adapted program (attach_adapters.h) that a device with these options runs where rows have
/// adapters; nothing where there are no places.
[[nodiscard]] std::shared_ptr<const Program> adapted_program(const Program& program,
                                                             const DeviceOptions& options);

/// Cuts up `arena` for a model, and `kv_arena`, which may be the same, for the decoder's KV and
/// that of the encoder's output. `shape` has been made by step_shape_of(), and `adapted` by
/// adapted_program(), null where that gives nothing.
[[nodiscard]] Layout lay_out(const Program& program, const Program* adapted,
                             const DeviceOptions& options, const CudaStepShape& shape, Arena& arena,
                             Arena& kv_arena);

/// A matrix as devices hold it, its numbers taken from `arena`; `codes` as matrix_of() has it.
[[nodiscard]] DeviceMatrix take_matrix(const MatrixPlan& plan, Arena& arena, bool codes = false);

/// How many outputs a run of a matrix has; of a gated one gates and ups.
[[nodiscard]] std::int64_t outputs_of_run(const DeviceMatrix& matrix, int run) noexcept;

/// Bytes of a run's blocks or boxes.
[[nodiscard]] std::int64_t bytes_of_run(const DeviceMatrix& matrix, int run) noexcept;

/// So many rows of `width` numbers.
[[nodiscard]] DeviceRows take_rows(DType dtype, std::int64_t width, std::int64_t rows,
                                   Arena& arena);

/// Bytes of one page of the decoder's KV, keys and values of all layers.
[[nodiscard]] std::int64_t page_bytes(const Program& program, const DeviceOptions& options);

}  // namespace weft::cuda
