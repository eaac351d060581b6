#pragma once

#include <span>

#include "weft/core/token.h"
#include "weft/kernels/sample/sample_cuda.h"
#include "weft/sampling/sampling_params.h"

namespace weft::cuda {

/// Whether the device has every strategy that is on. It lacks LogitProcessor, DRY, FSD, dynamic
/// temperature, tail-free sampling, XTC, Mirostat, windows of penalties, logprobs after the
/// samplers and GuessAcceptance::kLossyTop: the host chooses tokens for such rows. For a constraint
/// the device gets a mask for each choice, which also covers min_tokens (Sampler::write_mask).
[[nodiscard]] bool samples_on_device(const SamplingParams& params,
                                     std::span<const TokenId> end_tokens);

/// The device's settings for `params`, which samples_on_device() accepts. Fills `lists`.
[[nodiscard]] SampleSettings sample_settings(const SamplingParams& params,
                                             std::span<const TokenId> end_tokens,
                                             std::uint64_t seed, SampleLists& lists);

}  // namespace weft::cuda
