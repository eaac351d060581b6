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

/// What one way takes for one product, in seconds.
struct WayTime {
  LinearWay way = LinearWay::kVector;
  double seconds = 0;
};

/// One product of a model at one number of tokens, measured.
struct ProductTime {
  LinearShape shape{};
  std::int64_t bytes = 0;     ///< that any way must at least move: weights, inputs and outputs
  std::vector<WayTime> ways;  ///< every way that can do it; first the one taken without a table
  std::size_t fastest = 0;    ///< of `ways`, as fastest_of() says
};

/// Numbers of tokens that are measured where nobody says.
[[nodiscard]] std::vector<std::int64_t> default_tuning_tokens();
inline constexpr std::int64_t kMaxTuningTokens = 8192;

/// Which of them to take: the first, unless another needs at least 2 % less. Where two are as good
/// as equal, the noise of a measurement does not decide.
[[nodiscard]] std::size_t fastest_of(const std::vector<WayTime>& ways) noexcept;

/// Told how many of the measurements are done.
using TuneProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Measures each product of a program (once for each dtype, rows and inputs) at each number of
/// tokens, rounded up to their bucket, by every way that can do it, with what the program does to
/// the product's outputs. Numbers are random. Each call has weights of its own among so many that
/// none are still in the L2 cache when their turn comes again; inputs are, as they are in a step.
/// Calls are recorded and replayed as a step's are; of several replays the median counts.
///
/// Takes its memory when it begins and gives it back. Leaves `runtime`'s GPU the calling thread's.
/// kDriver, kOutOfMemory.
[[nodiscard]] Result<std::vector<ProductTime>> time_products(
    Runtime& runtime, const Program& program, const std::vector<std::int64_t>& tokens,
    const TuneProgress& progress = {});

}  // namespace weft::cuda
