#include "weft/kernels/adapter/adapter_expand.h"

#include <cstdint>

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {

void adapter_expand(const AdapterExpandParams& params, Share share) {
  const std::int64_t rows = params.out.count;
  require(holds_rows(params.out, rows, 0), "adapter_expand: out");
  require(params.residual.data == nullptr || holds_rows(params.residual, rows, params.out.width),
          "adapter_expand: residual does not fit out");
  require_tasks(params.tasks, rows);
  for (const AdapterRun& run : params.runs) {
    require(run.first_output >= 0 && run.first_output + run.outputs <= params.out.width,
            "adapter_expand: a run outside of out");
    for (const AdapterTask& task : params.tasks) {
      const AdapterPair& pair = task.pairs[run.site];
      require(pair.rank == 0 || (pair.b != nullptr && pair.rank > 0 &&
                                 holds_rows(params.low, rows, run.low + std::int64_t{pair.rank})),
              "adapter_expand: a pair's rank");
    }
  }
  cpu::adapter_expand(params, share);
}

}  // namespace weft
