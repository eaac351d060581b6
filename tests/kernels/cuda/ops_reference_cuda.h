#pragma once

#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_shrink.h"
#include "weft/kernels/cuda/copy_cuda.h"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/linear/activate.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/norm/scale_rows.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/kernels/sample/sample_cuda.h"

/// The ops of NVIDIA GPUs as naive loops in float64, over the same parameters with pointers to host
/// memory. Kernels are compared with them, and a fake device computes with them. As in the kernels,
/// rows without a sequence are computed like others, except that they write no cache and count no
/// token.
namespace weft::cuda::reference {

void norm(const CudaNormParams& params);
void embed(const CudaEmbeddingParams& params);
void rotate_and_store(const CudaRotaryParams& params);
void route(const CudaRouteParams& params);
void expert_linear(const CudaExpertLinearParams& params);
void combine(const CudaCombineParams& params);
void scale_rows(const CudaScaleRowsParams& params);
void activate(const CudaActivateParams& params);
/// All of a sum is in the first slice.
void adapter_shrink(const CudaAdapterShrinkParams& params);
void adapter_expand(const CudaAdapterExpandParams& params);
void write_tables(const CudaTableParams& params);
void copy_pages(const CudaPageCopyParams& params);
void resolve_tokens(const CudaResolveParams& params);
void start_counts(const CudaCountParams& params);

/// Uses the code of the host's sampler, so that both choose the same tokens.
void sample(const CudaSampleParams& params);
void tell_parts(const CudaTellParams& params);

}  // namespace weft::cuda::reference
