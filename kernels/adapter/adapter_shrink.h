#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/adapter/adapter_pair.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The first half of what adapters add to products (LoRA, Hu et al. 2021, section 4.1), for all
/// products of one input: low[t, s * R + r] = scale * sum over k of A[r, k] * in[t, k]. Here r is
/// below the rank of the pair that row t's adapter has for site s. Zeros follow up to a multiple of
/// kAdapterRankBlock. The op does not write other numbers of `low`.
struct AdapterShrinkParams {
  ConstRows in;                        ///< [T, K]
  Rows low;                            ///< [T, sites * R]; does not overlap `in`
  std::span<const AdapterTask> tasks;  ///< rows of `in`
  std::int32_t first_site = 0;         ///< index of the first site in AdapterTask::pairs
  std::int32_t sites = 0;
  std::int64_t rank = 0;  ///< R: no pair has a greater rank
};

/// A row of `low` depends on its row of `in` and its adapter alone, bit for bit. Sums are in
/// float32 over K in one fixed order. Allocates nothing.
void adapter_shrink(const AdapterShrinkParams& params, Share share);

}  // namespace weft

namespace weft::cuda {

/// sums[s, t, i * R + r] = scale * sum of A[r, k] * in[t, k] over slice s of the inputs, for site i
/// and the adapter of row t. A is bf16, `in` is not rounded, and sums are in float32. Ranks that a
/// pair lacks get zeros up to whole tiles; other sums are not written.
struct CudaAdapterShrinkParams {
  std::int64_t rows = 0;
  DeviceRows in{};  ///< [T, K], f32, f16 or bf16
  CudaAdapterTasks tasks{};
  CudaAdapterPlaces places{};
  std::int32_t first_site = 0;
  std::int32_t sites = 0;
  std::int32_t rank = 0;    ///< R, a multiple of kAdapterTile
  std::int32_t slices = 1;  ///< adapter_slices()
  float* sums = nullptr;    ///< [slices, T, sites * R]
};

[[nodiscard]] Status adapter_shrink(const CudaAdapterShrinkParams& params, Stream stream);

}  // namespace weft::cuda
