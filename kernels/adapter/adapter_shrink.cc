#include "weft/kernels/adapter/adapter_shrink.h"

#include <cstddef>

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {

void require_tasks(std::span<const AdapterTask> tasks, std::int64_t rows) {
  for (const AdapterTask& task : tasks) {
    require(task.pairs != nullptr, "adapters: a task without pairs");
    for (const std::int32_t row : task.rows) {
      require(row >= 0 && row < rows, "adapters: a task's row is not there");
    }
  }
}

void adapter_shrink(const AdapterShrinkParams& params, Share share) {
  require(params.sites >= 0 && params.rank > 0 && params.rank % kAdapterRankBlock == 0,
          "adapter_shrink: no rank");
  require(holds_rows(params.low, params.in.count, params.sites * params.rank),
          "adapter_shrink: low does not fit in");
  require_tasks(params.tasks, params.in.count);
  for (const AdapterTask& task : params.tasks) {
    for (std::int32_t site = 0; site < params.sites; ++site) {
      const AdapterPair& pair = task.pairs[params.first_site + site];
      require(pair.rank >= 0 && pair.rank <= params.rank && (pair.rank == 0 || pair.a != nullptr),
              "adapter_shrink: a pair's rank");
    }
  }
  cpu::adapter_shrink(params, share);
}

}  // namespace weft
