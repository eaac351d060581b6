#include "weft/kernels/sample/sample_select_cuda.cuh"
#include "weft/kernels/sample/sample_weights_cuda.cuh"
#include "weft/kernels/sample/tell_part_cuda.h"

namespace weft::cuda {
namespace {

template <int kBlocks>
__device__ void tell_row(const CudaTellParams& params, int row, SelectRoom<kBlocks>& room) {
  Team<kBlocks> team(room.team);
  Selector<kBlocks> selector(team, room, params.logits.width);
  if constexpr (kBlocks > 1) team.sync();  // until all blocks have begun
  selector.look_at(static_cast<const float*>(row_of(params.logits, row)));
  ToldPart& told = params.told[row];
  const Key best = selector.best();
  Units sum = 0;
  Units count = 0;
  if (best != 0) {
    sum = selector.sum(Weighed{number_of(best)});
    const Selected selected =
        selector.template select_best<Counted>(LogitOrder{number_of(best)}, Units{kToldTokens});
    count = min(selected.total, Units{kToldTokens});
    selector.each_selected(selected, [&](unsigned place, int id, float logit) {
      (&told.tokens[0])[place] = {logit, params.first_token + id};
    });
  }
  if (team.leads() && threadIdx.x == 0) {
    told.sum = sum;
    told.count = static_cast<std::int32_t>(count);
  }
  if constexpr (kBlocks > 1) team.sync();  // before any block ends
}

template <int kBlocks>
__global__ void __launch_bounds__(Team<kBlocks>::kThreads)
    tell_kernel(const __grid_constant__ CudaTellParams params) {
  if constexpr (kIsLaunched<kBlocks>) {
    __shared__ SelectRoom<kBlocks> room;
    let_successor_start();
    wait_for_predecessor();
    tell_row<kBlocks>(params, static_cast<int>(blockIdx.x) / kBlocks, room);
  }
}

}  // namespace

Status tell_parts(const CudaTellParams& params, Stream stream) {
  return launch_teams(tell_kernel<1>, tell_kernel<kClusterBlocks>,
                      shares_rows(params.blocks, params.logits.width, params.rows), params.rows,
                      stream, params);
}

}  // namespace weft::cuda
