#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

struct CUstream_st;

/// The words of the ops on NVIDIA GPUs. These headers need no CUDA: who fills parameters and plans
/// steps is compiled, and tested, everywhere.
namespace weft::cuda {

/// The runtime's cudaError_t by its number.
enum class Status : int { kSuccess = 0 };

/// cudaStream_t.
using Stream = CUstream_st*;

/// Rows in a device's memory. Their number stands where they are used: a step that is replayed
/// computes all rows of its bucket, whatever is in those beyond the step's tokens, and no op lets a
/// row look at another. `data` is aligned to 256 bytes, `stride` to 64 elements. Borrowed.
struct DeviceRows {
  void* data = nullptr;
  DType dtype = DType::kF32;  ///< f32, f16 or bf16
  std::int64_t width = 0;
  std::int64_t stride = 0;    ///< elements from one row to the next
  std::int64_t capacity = 0;  ///< rows that there is memory for
};

/// Returns columns [first, first + width) of rows; none of none.
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
  std::int32_t context = 0;     ///< tokens that attention that is not causal sees
  std::int64_t first_page = 0;  ///< in DeviceSpans::pages
};

/// The sequences of a step over one KV cache, in a device's memory.
struct DeviceSpans {
  const DeviceSequence* sequences = nullptr;
  const std::int32_t* sequence_of = nullptr;  ///< by token; -1: the row is none of the step's
  const std::int32_t* pages = nullptr;
};

/// One layer's keys and values in a device's memory, as weft::KvLayer has them in the host's: rows
/// [P, K, page_tokens] of D numbers, each of kv_row_bytes(dtype, D) bytes.
struct DeviceKvLayer {
  DType dtype = DType::kBF16;  ///< one of kKvDTypes
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::int32_t page_tokens = 1;
  std::int32_t kv_heads = 0;
  std::int32_t head_size = 0;
};

}  // namespace weft::cuda
