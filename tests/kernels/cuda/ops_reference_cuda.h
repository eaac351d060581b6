#pragma once

#include "weft/kernels/cuda/copy_cuda.h"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/norm/scale_rows.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/kernels/sample/sample_cuda.h"

/// What the ops of NVIDIA GPUs compute, as naive loops in float64 over the same parameters with
/// pointers to the host's memory: what kernels are compared with, and what a fake device computes
/// where there is none. Rows of no sequence get what the kernels give them: everything but a write
/// to the cache or a count.
namespace weft::cuda::reference {

void norm(const CudaNormParams& params);
void embed(const CudaEmbeddingParams& params);
void rotate_and_store(const CudaRotaryParams& params);
void route(const CudaRouteParams& params);
void expert_linear(const CudaExpertLinearParams& params);
void combine(const CudaCombineParams& params);
void scale_rows(const CudaScaleRowsParams& params);
void write_tables(const CudaTableParams& params);
void copy_pages(const CudaPageCopyParams& params);
void resolve_tokens(const CudaResolveParams& params);
void start_counts(const CudaCountParams& params);

/// By the code of the host's sampler, so that it chooses what that would have chosen.
void sample(const CudaSampleParams& params);
void tell_parts(const CudaTellParams& params);

}  // namespace weft::cuda::reference
