#pragma once

#include <span>

#include "weft/kernels/adapter/adapter_pair.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The second half of what adapters add to products (LoRA, Hu et al. 2021, section 4.1): out =
/// residual + scale * B low, for each run of outputs, with the adapter of each row. The result
/// becomes the product's residual. If a row has no adapter, or its adapter has no pair for the run,
/// out = residual. A missing residual counts as -0: a product that adds it keeps each sum bit for
/// bit.
struct AdapterExpandParams {
  ConstRows low;       ///< [T, L] of adapter_shrink()
  ConstRows residual;  ///< [T, N]; data null: no residual; may be `out`
  Rows out;            ///< [T, N]
  float scale = 1;     ///< the product's scale (LinearSpec::scale)
  std::span<const AdapterTask> tasks;
  std::span<const AdapterRun> runs;  ///< the product's runs
};

/// A row of `out` depends on its rows of `low` and `residual` and its adapter alone, bit for bit.
/// Sums are in float32 over the rank, in its order. Allocates nothing.
void adapter_expand(const AdapterExpandParams& params, Share share);

}  // namespace weft

namespace weft::cuda {

/// The most runs of a product on a GPU.
inline constexpr std::int32_t kMaxCudaAdapterRuns = 8;

/// As weft::AdapterExpandParams, from the slices' sums of CudaAdapterShrinkParams. B is in bf16,
/// and sums are in float32.
struct CudaAdapterExpandParams {
  std::int64_t rows = 0;
  CudaAdapterTasks tasks{};
  CudaAdapterPlaces places{};
  AdapterRun runs[kMaxCudaAdapterRuns] = {};
  std::int32_t run_count = 0;
  std::int32_t slices = 1;
  const float* sums = nullptr;  ///< [slices, T, sums_width]
  std::int64_t sums_width = 0;
  float scale = 1;
  /// If not 0, the product is gated and has this number of outputs: its gates and ups alternate in
  /// blocks of kGateBlock.
  std::int64_t gates = 0;
  DeviceRows residual{};  ///< f32; data null when there is none; may be `out`
  DeviceRows out{};       ///< f32
};

[[nodiscard]] Status adapter_expand(const CudaAdapterExpandParams& params, Stream stream);

}  // namespace weft::cuda
