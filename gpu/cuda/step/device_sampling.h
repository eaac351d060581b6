#pragma once

#include <span>

#include "weft/core/token.h"
#include "weft/kernels/sample/sample_cuda.h"
#include "weft/sampling/sampling_params.h"

namespace weft::cuda {

/// Whether the device has every strategy that is on. It has no LogitProcessor, DRY, FSD, dynamic
/// temperature, tail-free sampling, XTC, Mirostat, windows of penalties or logprobs after the
/// samplers: such rows are chosen on the host. Of a constraint it is told a mask for each choice,
/// which has min_tokens in it (Sampler::write_mask).
[[nodiscard]] bool samples_on_device(const SamplingParams& params,
                                     std::span<const TokenId> end_tokens);

/// What the device needs of them; `params` are such as it has. `lists` gets the lists.
[[nodiscard]] SampleSettings sample_settings(const SamplingParams& params,
                                             std::span<const TokenId> end_tokens,
                                             std::uint64_t seed, SampleLists& lists);

}  // namespace weft::cuda
