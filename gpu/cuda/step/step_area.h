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

/// The most items in each part of a step.
struct CudaStepShape {
  std::int32_t tokens = 0;
  std::int32_t slots = 0;  ///< sequences
  std::int32_t outputs = 0;
  std::int32_t choices = 0;
  std::int32_t items = 0;                 ///< items of attention
  std::int32_t pages_per_slot = 0;        ///< entries of a page table
  std::int32_t cross_pages_per_slot = 0;  ///< pages of the encoder's output; 0 without encoder
  std::int32_t encoder_pages_per_slot = 0;
  std::int32_t pages = 0;  ///< pages of the decoder's KV
  AttentionShape attention{};
  std::int32_t adapter_places = 0;
  bool multiplies_codes = false;  ///< Properties::multiplies_codes

  [[nodiscard]] std::int64_t table_entries() const noexcept {
    return std::int64_t{slots} * (pages_per_slot + cross_pages_per_slot + encoder_pages_per_slot);
  }
  /// Returns the index at which a slot's page table begins among all tables.
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

/// Values of a step that are single numbers.
struct StepHead {
  std::uint64_t number = 0;  ///< the step's number, for its flag
  std::int32_t items = 0;
  std::int32_t cross_items = 0;
  std::int32_t samples = 0;
  std::int32_t adapter_tasks = 0;
};

/// The host's data for a step. It exists in page-locked memory, where the host writes it, and in
/// the device's memory, with the same layout. So one copy uploads it, and recorded kernels find it
/// at the same addresses in every step.
struct StepArea {
  StepHead* head = nullptr;
  TokenId* wanted = nullptr;          ///< [T] see CudaResolveParams
  std::int32_t* slot_of = nullptr;    ///< [T]
  std::uint8_t* is_output = nullptr;  ///< [T]
  std::int32_t* positions = nullptr;  ///< [T]
  /// [T] positions in tables; the long set of LongRoPE follows the short one.
  std::int32_t* long_positions = nullptr;
  std::int32_t* types = nullptr;        ///< [T] token types
  std::int32_t* sequence_of = nullptr;  ///< [T]
  DeviceSequence* sequences = nullptr;  ///< [slots]
  DeviceSequence* cross_sequences = nullptr;
  std::int32_t* output_rows = nullptr;  ///< [outputs]
  SampleItem* samples = nullptr;        ///< [choices]
  CudaAttentionItem* items = nullptr;
  CudaAttentionItem* cross_items = nullptr;
  CudaAdapterTask* adapter_tasks = nullptr;  ///< null if there are no places for adapters
  std::int32_t* adapter_rows = nullptr;      ///< [T]
  std::size_t always = 0;                    ///< bytes up to here are copied for every step
  // Copied only if not empty.
  TableWrite* writes = nullptr;   ///< [3 * slots]
  std::int32_t* pages = nullptr;  ///< [table_entries]
  PageCopy* copies = nullptr;     ///< [pages]
  TokenId* history = nullptr;     ///< [context] tokens of one sequence that begins
  // Never copied.
  TokenId* ids = nullptr;  ///< [T] resolved ids; used in the device's memory only
  std::size_t bytes = 0;

  /// Takes the parts from `memory`, or only counts.
  [[nodiscard]] static StepArea cut(const CudaStepShape& shape, std::int64_t context,
                                    std::byte* memory);
};

}  // namespace weft::cuda
