#include "weft/gpu/host/host_weights.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "weft/gpu/host/thread_team.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {
namespace {

// Outputs that one thread packs at a time: whole panels, so that threads write to lines of their
// own.
constexpr std::int64_t kGrain = 256;

SourceMatrix source_of(const MatrixPart& part, std::int64_t first, std::int64_t count) {
  const DTypeBlock block = block_of(part.tensor->dtype);
  const std::int64_t start = part.offset + first * part.stride_output;
  return {part.tensor->bytes.data() + start / block.elements * block.bytes,
          part.tensor->dtype,
          count,
          part.inputs,
          part.stride_output,
          part.stride_input};
}

void fill(PackedWeight& weight, const MatrixPlan& plan, Share share) {
  for (const MatrixPart& part : plan.parts) {
    const auto [begin, end] = share.of(part.outputs, kGrain);
    if (begin == end) continue;
    weight.fill(part.first_output + begin, source_of(part, begin, end - begin));
  }
}

}  // namespace

Result<HostWeights> HostWeights::load(const Program& program, ThreadTeam& team,
                                      const LoadProgress& progress) {
  HostWeights weights;
  const std::int64_t total = program.weight_bytes();
  std::int64_t done = 0;
  for (const VectorPlan& plan : program.vectors) weights.vectors_.push_back(vector_values(plan));
  for (const MatrixPlan& plan : program.matrices) {
    auto matrix = PackedWeight::allocate(plan.dtype, plan.outputs, plan.inputs, plan.gated);
    if (!matrix) return matrix.error();
    team.run([&](Share share) { fill(*matrix, plan, share); });
    weights.matrices_.push_back(std::move(*matrix));
    const std::int64_t numbers = plan.outputs * plan.inputs * (plan.gated ? 2 : 1);
    done += bytes_of(plan.dtype, numbers).value_or(0);
    if (progress) progress(done, total);
  }
  if (progress) progress(total, total);
  return weights;
}

}  // namespace weft
