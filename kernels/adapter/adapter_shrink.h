#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/adapter/adapter_pair.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The first half of what adapters add to products (LoRA, Hu et al. 2021, section 4.1), for all
/// products of one input: low[t, s * R + r] = scale * sum over k of A[r, k] * in[t, k], for r below
/// the rank of the pair that the adapter of row t has for site s. Up to a multiple of
/// kAdapterRankBlock zeros follow, and other numbers of `low` are not written.
struct AdapterShrinkParams {
  ConstRows in;                        ///< [T, K]
  Rows low;                            ///< [T, sites * R]; does not overlap `in`
  std::span<const AdapterTask> tasks;  ///< rows of `in`
  std::int32_t first_site = 0;         ///< of AdapterTask::pairs
  std::int32_t sites = 0;
  std::int64_t rank = 0;  ///< R: no pair has a greater rank
};

/// A row of `low` depends on its row of `in` and its adapter alone, bit for bit. Sums are in
/// float32 over K in one fixed order. Allocates nothing.
void adapter_shrink(const AdapterShrinkParams& params, Share share);

}  // namespace weft
