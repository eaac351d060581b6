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
  Extent rows;                ///< the checkpoint's rows that are here
};

/// The summaries of logits that ranks sharing the head exchange instead of their columns of logits.
/// Empty if the columns are hardly longer than a summary, or if the ranks are more than one choice
/// can use.
struct ToldLayout {
  /// By output: on the first rank [ranks][outputs], its own summaries first; on other ranks
  /// [outputs].
  ToldPart* parts = nullptr;
  std::vector<DeviceRows> rows;  ///< the same memory by rank, as rows of floats
  std::vector<Extent> columns;   ///< the floats that cross the link, by rank

  [[nodiscard]] bool can_tell() const noexcept { return !columns.empty(); }
};

/// Memory for adapters that requests choose. Empty if there are no places.
struct AdapterLayout {
  CudaAdapterPlaces places;
  float* sums = nullptr;            ///< CudaAdapterShrinkParams::sums, ProductAdapters::sums
  unsigned* meeting = nullptr;      ///< ProductAdapters::meeting
  std::vector<DeviceRows> buffers;  ///< the adapted program's buffers, by BufferId
};

/// Where all parts of a model lie in a device's memory, or in host memory that the device reaches.
/// Pointers are the device's. They are null if the layout was only computed to count bytes.
struct Layout {
  std::vector<DeviceMatrix> matrices;  ///< by MatrixId
  std::vector<float*> vectors;         ///< by VectorId
  std::map<const CheckpointTensor*, DeviceTable> tables;
  std::vector<float*> cosines, sines;  ///< by Program::rotary
  std::vector<DeviceKvLayer> self_kv, cross_kv, encoder_kv;
  PageBlocks* page_blocks = nullptr;  ///< keys and values of each layer of self_kv
  std::vector<DeviceRows> buffers;    ///< by BufferId
  AdapterLayout adapters;
  /// The input of a product, converted to another type or gathered.
  std::byte* converted = nullptr;
  std::byte* decoded = nullptr;  ///< an encoded matrix decoded to bf16, for one product
  /// The columns of logits that come from other ranks, by rank; the entry of its own columns has no
  /// memory. Empty if no columns come.
  std::vector<DeviceRows> gathered;
  ToldLayout told;
  std::byte* linear_workspace = nullptr;
  float* squares = nullptr;  ///< NormAfter::squares for up to kMaxFlatTokens rows
  std::byte* attention_workspace = nullptr;
  std::uint32_t* recomputed = nullptr;  ///< see CudaAttentionParams
  DeviceRouting routing;
  /// The matrices of each list in an op, as the device reads them, by the op's list.
  std::map<const std::vector<MatrixId>*, DeviceMatrix*> matrix_lists;
  std::map<const std::vector<VectorId>*, const float**> vector_lists;

  StepArea step;  ///< the data that a step uploads
  std::int32_t* page_tables = nullptr;
  TokenId* last_tokens = nullptr;         ///< [slots]
  SampleSettings* settings = nullptr;     ///< [slots]
  SampleLists* lists = nullptr;           ///< [slots]
  std::uint32_t* token_counts = nullptr;  ///< [slots, V]
  float* edited_logits = nullptr;         ///< [choices, V]
  std::uint32_t* masks = nullptr;         ///< [slots, TokenMasks::words(V)]
  std::byte* weights_begin = nullptr;     ///< memory that the checkpoint fills, contiguous
  std::size_t weight_bytes = 0;

  [[nodiscard]] const std::vector<DeviceKvLayer>& kv(KvGroup group) const;
};

/// Returns the adapted program (attach_adapters.h) that a device with these options runs if rows
/// have adapters; null if there are no places.
[[nodiscard]] std::shared_ptr<const Program> adapted_program(const Program& program,
                                                             const DeviceOptions& options);

/// Cuts up `arena` for a model, and `kv_arena` for the decoder's KV and for the KV of the encoder's
/// output. Both arenas may be the same. `shape` comes from step_shape_of(), and `adapted` from
/// adapted_program().
[[nodiscard]] Layout lay_out(const Program& program, const Program* adapted,
                             const DeviceOptions& options, const CudaStepShape& shape, Arena& arena,
                             Arena& kv_arena);

/// Returns a matrix as devices hold it, with memory from `arena`; `codes` is as in matrix_of().
[[nodiscard]] DeviceMatrix take_matrix(const MatrixPlan& plan, Arena& arena, bool codes = false);

/// Returns the outputs of a run of a matrix; for a gated matrix gates and ups.
[[nodiscard]] std::int64_t outputs_of_run(const DeviceMatrix& matrix, int run) noexcept;

/// Returns the bytes of a run's blocks or boxes.
[[nodiscard]] std::int64_t bytes_of_run(const DeviceMatrix& matrix, int run) noexcept;

/// Takes `rows` rows of `width` numbers.
[[nodiscard]] DeviceRows take_rows(DType dtype, std::int64_t width, std::int64_t rows,
                                   Arena& arena);

/// Returns the bytes of one page of the decoder's KV: keys and values of all layers.
[[nodiscard]] std::int64_t page_bytes(const Program& program, const DeviceOptions& options);

}  // namespace weft::cuda
