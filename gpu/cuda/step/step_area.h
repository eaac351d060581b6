#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/token.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/model_device.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// How large the parts of a step can become.
struct CudaStepShape {
  std::int32_t tokens = 0;
  std::int32_t slots = 0;  ///< sequences
  std::int32_t outputs = 0;
  std::int32_t choices = 0;
  std::int32_t items = 0;                 ///< of attention
  std::int32_t pages_per_slot = 0;        ///< entries of a page table
  std::int32_t cross_pages_per_slot = 0;  ///< of the encoder's output; 0 without encoder
  std::int32_t encoder_pages_per_slot = 0;
  std::int32_t pages = 0;  ///< of the decoder's KV
  AttentionShape attention{};
  std::int32_t adapter_places = 0;
  bool multiplies_codes = false;  ///< Properties::multiplies_codes

  [[nodiscard]] std::int64_t table_entries() const noexcept {
    return std::int64_t{slots} * (pages_per_slot + cross_pages_per_slot + encoder_pages_per_slot);
  }
  /// Where a slot's table begins among all of them.
  [[nodiscard]] std::int64_t self_table(std::int32_t slot) const noexcept {
    return std::int64_t{slot} * pages_per_slot;
  }
  [[nodiscard]] std::int64_t cross_table(std::int32_t slot) const noexcept {
    return std::int64_t{slots} * pages_per_slot + std::int64_t{slot} * cross_pages_per_slot;
  }
  [[nodiscard]] std::int64_t encoder_table(std::int32_t slot) const noexcept {
    return std::int64_t{slots} * (pages_per_slot + cross_pages_per_slot) +
           std::int64_t{slot} * encoder_pages_per_slot;
  }
};

[[nodiscard]] CudaStepShape step_shape_of(const Program& program, const DeviceOptions& options,
                                          const Properties& properties);

/// What varies from step to step besides single numbers.
struct StepHead {
  std::uint64_t number = 0;  ///< of the step, for its flag
  std::int32_t items = 0;
  std::int32_t cross_items = 0;
  std::int32_t samples = 0;
  std::int32_t adapter_tasks = 0;
};

/// The host's data for a step. They lie once in page-locked memory, where the host writes them, and
/// once in the device's memory, cut up alike: one copy uploads them, and recorded kernels find them
/// at the same addresses in every step.
struct StepArea {
  StepHead* head = nullptr;
  TokenId* wanted = nullptr;               ///< [T] see CudaResolveParams
  std::int32_t* slot_of = nullptr;         ///< [T]
  std::uint8_t* is_output = nullptr;       ///< [T]
  std::int32_t* positions = nullptr;       ///< [T]
  std::int32_t* long_positions = nullptr;  ///< [T] those of LongRoPE's long set moved behind
  std::int32_t* types = nullptr;           ///< [T] token types
  std::int32_t* sequence_of = nullptr;     ///< [T]
  DeviceSequence* sequences = nullptr;     ///< [slots]
  DeviceSequence* cross_sequences = nullptr;
  std::int32_t* output_rows = nullptr;  ///< [outputs]
  SampleItem* samples = nullptr;        ///< [choices]
  CudaAttentionItem* items = nullptr;
  CudaAttentionItem* cross_items = nullptr;
  CudaAdapterTask* adapter_tasks = nullptr;  ///< null where there are no places for adapters
  std::int32_t* adapter_rows = nullptr;      ///< [T]
  std::size_t always = 0;                    ///< bytes up to here are copied for every step
  // Copied where there is something.
  TableWrite* writes = nullptr;   ///< [3 * slots]
  std::int32_t* pages = nullptr;  ///< [table_entries]
  PageCopy* copies = nullptr;     ///< [pages]
  TokenId* history = nullptr;     ///< [context] of one sequence that begins
  // Not copied.
  TokenId* ids = nullptr;  ///< [T] resolved; of use in the device's memory only
  std::size_t bytes = 0;

  /// Cuts it from `memory`, or counts.
  [[nodiscard]] static StepArea cut(const CudaStepShape& shape, std::int64_t context,
                                    std::byte* memory);
};

}  // namespace weft::cuda
