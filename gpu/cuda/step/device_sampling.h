#pragma once

#include <span>

#include "weft/core/token.h"
#include "weft/kernels/sample/sample_cuda.h"
#include "weft/sampling/sampling_params.h"

namespace weft::cuda {

/// Whether the device has all strategies that `params` uses. It lacks LogitProcessor, DRY, FSD,
/// dynamic temperature, tail-free sampling, XTC, Mirostat, windows of penalties, logprobs after the
/// samplers, and GuessAcceptance::kLossyTop. The host chooses tokens for such rows. For a
/// constraint the device gets a mask for each choice, which also covers min_tokens
/// (Sampler::write_mask).
[[nodiscard]] bool samples_on_device(const SamplingParams& params,
                                     std::span<const TokenId> end_tokens);

/// Returns the device's settings for `params`, for which samples_on_device() holds. Fills `lists`.
[[nodiscard]] SampleSettings sample_settings(const SamplingParams& params,
                                             std::span<const TokenId> end_tokens,
                                             std::uint64_t seed, SampleLists& lists);

}  // namespace weft::cuda
