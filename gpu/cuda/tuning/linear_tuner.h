#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/kernels/linear/linear_table_cuda.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// The seconds that one way takes for one product.
struct WayTime {
  LinearWay way = LinearWay::kVector;
  double seconds = 0;
};

/// One product of a model at one number of tokens, measured.
struct ProductTime {
  LinearShape shape{};
  std::int64_t bytes = 0;  ///< bytes that any way must move: weights, inputs and outputs
  /// All ways that can compute it; the first is the way without a table.
  std::vector<WayTime> ways;
  std::size_t fastest = 0;  ///< index in `ways`, from fastest_of()
};

/// Returns the numbers of tokens that are measured by default.
[[nodiscard]] std::vector<std::int64_t> default_tuning_tokens();
inline constexpr std::int64_t kMaxTuningTokens = 8192;

/// Returns the index of the way to take: the first, unless another needs at least 2 % less time. So
/// noise does not decide between ways that are about equal.
[[nodiscard]] std::size_t fastest_of(const std::vector<WayTime>& ways) noexcept;

/// Called with the number of measurements that are done.
using TuneProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Measures each product of a program (once for each dtype, rows and inputs) at each number of
/// tokens, rounded up to its bucket. It measures every way that can compute the product, with the
/// product's epilogue in the program. Numbers are random. Each call has its own weights, so many
/// that none are still in the L2 cache when they are used again. Inputs stay in the cache, as in a
/// step. Calls are recorded and replayed like a step; the median of several replays counts.
///
/// Allocates its memory at the start and frees it at the end. Leaves the GPU of `runtime` current
/// on the calling thread. kDriver, kOutOfMemory.
[[nodiscard]] Result<std::vector<ProductTime>> time_products(
    Runtime& runtime, const Program& program, const std::vector<std::int64_t>& tokens,
    const TuneProgress& progress = {});

}  // namespace weft::cuda
