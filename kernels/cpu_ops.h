#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_shrink.h"
#include "weft/kernels/attention/attention.h"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/linear/activate.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/kernels/sample/sample.h"
#include "weft/kernels/share.h"

/// The host's code of the ops. The op of the same name checks the parameters and then calls it.
namespace weft::cpu {

void norm(const NormParams& params, Share share);
void embed(const EmbeddingParams& params, Share::Range tokens);
void rotate_and_store(const RotaryParams& params, Share share);
void attention(const AttentionParams& params, Share share, std::span<std::byte> workspace);
void route(const RouteParams& params);
void combine(const CombineParams& params, Share share);
void activate(const ActivateParams& params, Share share);
void adapter_shrink(const AdapterShrinkParams& params, Share share);
void adapter_expand(const AdapterExpandParams& params, Share share);
[[nodiscard]] TokenId sample(std::span<const float> logits, const SampleParams& params,
                             std::span<std::uint64_t> scratch);

}  // namespace weft::cpu
