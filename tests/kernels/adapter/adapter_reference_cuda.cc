#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"
#include "weft/tests/kernels/cuda/rows_reference_cuda.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda::reference {
namespace {

const CudaAdapterPair* pair_of(const CudaAdapterPlaces& places, const CudaAdapterTask& task,
                               std::int32_t site) {
  if (task.place < 0) return nullptr;
  const std::byte* place = places.data + task.place * places.bytes;
  return reinterpret_cast<const CudaAdapterPair*>(place) + site;
}

double weight_of(const CudaAdapterPlaces& places, const CudaAdapterTask& task, std::int64_t begin,
                 std::int64_t index) {
  return load(DType::kBF16, places.data + task.place * places.bytes + begin, index);
}

/// Visits the rows of all tasks: visit(task, row).
template <class Visit>
void for_each_row(const CudaAdapterTasks& tasks, const Visit& visit) {
  for (std::int32_t t = 0; t < std::min(*tasks.count, tasks.most); ++t) {
    const CudaAdapterTask& task = tasks.tasks[t];
    for (std::int32_t i = 0; i < task.count; ++i) visit(task, tasks.rows[task.first + i]);
  }
}

std::int64_t column_of(const CudaAdapterExpandParams& params, std::int64_t output) {
  if (params.gates == 0) return output;
  const std::int64_t of = output % params.gates;
  return of / kGateBlock * 2 * kGateBlock + of % kGateBlock +
         (output < params.gates ? 0 : kGateBlock);
}

}  // namespace

void adapter_shrink(const CudaAdapterShrinkParams& params) {
  const std::int64_t width = std::int64_t{params.sites} * params.rank;
  for_each_row(params.tasks, [&](const CudaAdapterTask& task, std::int64_t row) {
    for (std::int32_t site = 0; site < params.sites; ++site) {
      const CudaAdapterPair* pair = pair_of(params.places, task, params.first_site + site);
      if (pair == nullptr) continue;
      for (std::int64_t rank = 0; rank < pair->tiles * kAdapterTile; ++rank) {
        double sum = 0;
        for (std::int64_t k = 0; k < params.in.width; ++k) {
          sum += at(params.in, row, k) *
                 weight_of(params.places, task, pair->a, adapter_a_at(rank, k, params.in.width));
        }
        for (std::int32_t slice = 0; slice < params.slices; ++slice) {
          // The total alone is told by the contract of both halves.
          params.sums[(slice * params.rows + row) * width + site * params.rank + rank] =
              slice == 0 ? static_cast<float>(pair->scale * sum) : 0.0F;
        }
      }
    }
  });
}

void adapter_expand(const CudaAdapterExpandParams& params) {
  for_each_row(params.tasks, [&](const CudaAdapterTask& task, std::int64_t row) {
    for (std::int32_t r = 0; r < params.run_count; ++r) {
      const AdapterRun& run = params.runs[r];
      const CudaAdapterPair* pair = pair_of(params.places, task, run.site);
      for (std::int64_t output = 0; output < run.outputs; ++output) {
        double sum = 0;
        for (std::int64_t rank = 0; pair != nullptr && rank < pair->tiles * kAdapterTile; ++rank) {
          double low = 0;
          for (std::int32_t slice = 0; slice < params.slices; ++slice) {
            low += params.sums[(slice * params.rows + row) * params.sums_width + run.low + rank];
          }
          sum += low * weight_of(params.places, task, pair->b,
                                 adapter_b_at(run.first_panel + output / kAdapterPanel,
                                              output % kAdapterPanel, rank, pair->tiles));
        }
        const std::int64_t column = column_of(params, run.first_output + output);
        sum *= static_cast<double>(params.scale);
        if (params.residual.data != nullptr) sum += at(params.residual, row, column);
        put(params.out, row, column, sum);
      }
    }
  });
}

void activate(const CudaActivateParams& params) {
  const std::int64_t width = params.out.width;
  for (std::int64_t row = 0; row < params.rows; ++row) {
    std::vector<double> results;
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t gate =
          params.alternate ? i / kGateBlock * 2 * kGateBlock + i % kGateBlock : i;
      double sum = at(params.in, row, gate);
      double up = 0;
      if (params.gated) up = at(params.in, row, params.alternate ? gate + kGateBlock : width + i);
      if (params.bias != nullptr) {
        sum += params.bias[i];
        if (params.gated) up += params.bias[width + i];
      }
      double value = test::after_product(params.spec, params.gated, sum, up);
      if (params.residual.data != nullptr) value += at(params.residual, row, i);
      results.push_back(value);
    }
    for (std::int64_t i = 0; i < width; ++i)
      put(params.out, row, i, results[static_cast<std::size_t>(i)]);
  }
}

}  // namespace weft::cuda::reference
