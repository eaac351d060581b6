#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/linear/linear_cuda.h"

/// Rows that are rounded to FP8 for products by codes.
namespace weft::cuda {

/// Columns under one scale, as DeepSeek-V3's FP8 has them (arXiv 2412.19437, section 3.3.2).
inline constexpr std::int64_t kRoundedColumns = 128;
/// The greatest number of e4m3, in which rows are rounded.
inline constexpr float kGreatestE4m3 = 448;

/// Rounded rows in a device's memory.
struct RoundedRows {
  std::byte* codes = nullptr;  ///< e4m3 [rows, K], aligned to 128 bytes
  float* scales = nullptr;     ///< [K / kRoundedColumns, padded]
  std::int64_t rows = 0;
  std::int64_t padded = 0;  ///< rows rounded up, so that tiles of tokens may read all their scales
};

/// A multiple of every tile's number of tokens.
inline constexpr std::int64_t kRoundedPadding = 256;

/// Returns where `rows` rows of `inputs` numbers lie in `memory`.
[[nodiscard]] inline RoundedRows place_rounded_rows(std::byte* memory, std::int64_t rows,
                                                    std::int64_t inputs) {
  RoundedRows made;
  made.rows = rows;
  made.padded = (rows + kRoundedPadding - 1) / kRoundedPadding * kRoundedPadding;
  made.codes = memory;
  made.scales = reinterpret_cast<float*>(memory + rows * inputs);
  return made;
}

/// Bytes that place_rounded_rows() takes.
[[nodiscard]] constexpr std::int64_t rounded_bytes(std::int64_t rows, std::int64_t inputs) {
  const std::int64_t padded = (rows + kRoundedPadding - 1) / kRoundedPadding * kRoundedPadding;
  return rows * inputs +
         inputs / kRoundedColumns * padded * static_cast<std::int64_t>(sizeof(float));
}

/// Rounds each 128 columns of a row: the scale is the greatest magnitude over kGreatestE4m3, a code
/// is the nearest number of e4m3 to the number over the scale. A row of zeros has scales of zero.
/// `in` has bf16; row i is made from in row input_rows[i], or from row i if that is null.
[[nodiscard]] Status round_rows(const DeviceRows& in, const std::int32_t* input_rows,
                                const RoundedRows& to, Stream stream);

}  // namespace weft::cuda
