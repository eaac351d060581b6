#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/core/dtype.h"

namespace weft {

/// Numbers to be encoded.
struct QuantizeParams {
  DType dtype = DType::kQ8_0;
  const float* from = nullptr;  ///< [blocks * elements of a block], whole blocks side by side
  std::int64_t blocks = 0;
  /// [blocks * elements of a block] weight of each number's squared error, at least 0; null: all
  /// equal
  const float* importance = nullptr;
};

/// Returns whether this encoding has a quantizer. The encodings that Hugging Face's quantizers
/// write have none, because these calibrate with data.
[[nodiscard]] bool can_quantize(DType dtype) noexcept;

/// Writes blocks that decode_blocks() turns back into numbers near the given ones. Returns the
/// index of the first block that could not be encoded, because a number is not finite or a scale is
/// too large for its type; that block's bytes are meaningless.
///
/// Without importances q8_0, q4_0, q4_1, q5_0, q5_1, tq1_0, tq2_0 and mxfp4 have the codes of
/// PyPI's `gguf` 0.19, and Inferflow's encodings the codes of its paper's equations 1 and 3: the
/// extreme numbers determine the scale. The other encodings, and all encodings with importances,
/// search for the scale with the least sum of weighted squared errors; a grid's points are all
/// tried. Thread-safe. A type without a quantizer is a bug of the caller: internal_error.
[[nodiscard]] std::optional<std::int64_t> quantize_blocks(const QuantizeParams& params,
                                                          std::byte* to);

}  // namespace weft
