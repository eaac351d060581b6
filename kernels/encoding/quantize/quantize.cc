#include "weft/kernels/encoding/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/encoding/quantize/block_quantizers.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

BlockQuantizer quantizer_of(DType dtype) noexcept {
  for (const auto find : {linear_quantizer_of, k_quantizer_of, plane_quantizer_of,
                          table_quantizer_of, grid_quantizer_of}) {
    if (const BlockQuantizer found = find(dtype); found != nullptr) return found;
  }
  return nullptr;
}

/// Importances repeat for each row. Returns null if a block's importances are all 0.
const float* importance_of(const QuantizeParams& params, std::int64_t at, std::size_t count) {
  if (params.importance == nullptr) return nullptr;
  const std::span block(params.importance + at, count);
  const bool any = std::ranges::any_of(block, [](float weight) { return weight > 0; });
  return any ? block.data() : nullptr;
}

}  // namespace

bool can_quantize(DType dtype) noexcept { return quantizer_of(dtype) != nullptr; }

std::optional<std::int64_t> quantize_blocks(const QuantizeParams& params, std::byte* to) {
  const BlockQuantizer quantize = quantizer_of(params.dtype);
  require(quantize != nullptr, "quantize_blocks: a type without a quantizer");
  const Encoding& encoding = encoding_of(params.dtype);
  const auto [elements, bytes] = block_of(params.dtype);
  const auto count = static_cast<std::size_t>(elements);
  for (std::int64_t i = 0; i < params.blocks; ++i) {
    const std::span numbers(params.from + i * elements, count);
    if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); })) return i;
    const std::span block(to + i * bytes, static_cast<std::size_t>(bytes));
    std::ranges::fill(block, std::byte{0});
    quantize({numbers, importance_of(params, i * elements, count)},
             reinterpret_cast<BlockBytes>(block.data()));
    if (first_bad_scale(encoding, block)) return i;
  }
  return std::nullopt;
}

}  // namespace weft
