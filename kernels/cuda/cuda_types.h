#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

struct CUstream_st;

/// The types of the ops on NVIDIA GPUs. These headers need no CUDA, so the code that fills
/// parameters and plans steps is compiled and tested everywhere.
namespace weft::cuda {

/// The number of the CUDA runtime's cudaError_t.
enum class Status : int { kSuccess = 0 };

/// Equal to cudaStream_t.
using Stream = CUstream_st*;

/// Rows in a device's memory; each op's parameters have the number of rows. A replayed step
/// computes all rows of its bucket, also rows beyond the step's tokens, whatever they contain; no
/// op mixes rows. `data` is aligned to 256 bytes, `stride` to 64 elements. Borrowed.
struct DeviceRows {
  void* data = nullptr;
  DType dtype = DType::kF32;  ///< f32, f16 or bf16
  std::int64_t width = 0;
  std::int64_t stride = 0;    ///< elements from one row to the next
  std::int64_t capacity = 0;  ///< rows that there is memory for
};

/// Returns columns [first, first + width) of rows; no rows if `rows` has no data.
[[nodiscard]] constexpr DeviceRows columns_of(DeviceRows rows, std::int64_t first,
                                              std::int64_t width) noexcept {
  if (rows.data == nullptr) return rows;
  rows.data = static_cast<std::byte*>(rows.data) + first * (rows.dtype == DType::kF32 ? 4 : 2);
  rows.width = width;
  return rows;
}

/// One sequence of a step as the device reads it. Token i is row first + i of the step's buffers
/// and position start + i of the context; the context's token c is at offset c % page_tokens of
/// page pages[first_page + c / page_tokens].
struct DeviceSequence {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t start = 0;
  std::int32_t context = 0;     ///< the context's tokens where attention is not causal
  std::int64_t first_page = 0;  ///< in DeviceSpans::pages
};

/// The sequences of a step over one KV cache, in a device's memory.
struct DeviceSpans {
  const DeviceSequence* sequences = nullptr;
  const std::int32_t* sequence_of = nullptr;  ///< by token; -1: the row is beyond the step's tokens
  const std::int32_t* pages = nullptr;
};

/// One layer's keys and values in a device's memory, laid out as in weft::KvLayer: rows
/// [P, K, page_tokens] of D numbers, each row of kv_row_bytes(dtype, D) bytes.
struct DeviceKvLayer {
  DType dtype = DType::kBF16;  ///< one of kKvDTypes
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::int32_t page_tokens = 1;
  std::int32_t kv_heads = 0;
  std::int32_t head_size = 0;
};

}  // namespace weft::cuda
