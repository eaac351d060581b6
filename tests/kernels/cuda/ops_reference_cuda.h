#pragma once

#include "weft/kernels/cuda/copy_cuda.h"
#include "weft/kernels/embedding/embedding_cuda.h"
#include "weft/kernels/experts/experts_cuda.h"
#include "weft/kernels/norm/norm_cuda.h"
#include "weft/kernels/norm/scale_rows_cuda.h"
#include "weft/kernels/rotary/rotary_cuda.h"
#include "weft/kernels/sample/sample_cuda.h"

/// What the ops of NVIDIA GPUs compute, as naive loops in float64 over the same parameters with
/// pointers to the host's memory: what kernels are compared with, and what a fake device computes
/// where there is none. Rows of no sequence get what the kernels give them: everything but a write
/// to the cache or a count.
namespace weft::cuda::reference {

void norm(const NormParams& params);
void embed(const EmbeddingParams& params);
void rotate_and_store(const RotaryParams& params);
void route(const RouteParams& params);
void expert_linear(const ExpertLinearParams& params);
void combine(const CombineParams& params);
void scale_rows(const ScaleRowsParams& params);
void write_tables(const TableParams& params);
void copy_pages(const PageCopyParams& params);
void resolve_tokens(const ResolveParams& params);
void start_counts(const CountParams& params);

/// By the code of the host's sampler, so that it chooses what that would have chosen.
void sample(const SampleParams& params);

}  // namespace weft::cuda::reference
