#include "weft/sampling/sampler.h"

#include <algorithm>
#include <utility>

#include "weft/kernels/require.h"
#include "weft/sampling/choice.h"
#include "weft/sampling/defaults.h"
#include "weft/sampling/sequence_state.h"
#include "weft/sampling/token_constraint.h"

namespace weft {
namespace {

/// The most tokens looked up at once; a continuing sequence has 1, a resumed one has more.
constexpr std::size_t kMostLookedUp = 8;

}  // namespace

namespace sampling {

ChoiceScratch::ChoiceScratch(std::size_t vocabulary)
    : keys(2 * vocabulary),
      candidates(vocabulary),
      model_logits(vocabulary),
      lengths(vocabulary),
      touched(defaults::kMaxOccurrences),
      allowed(defaults::kMaxTokenList),
      top(static_cast<std::size_t>(kMaxTopLogprobs)) {}

}  // namespace sampling

struct SamplerScratch::Impl : sampling::ChoiceScratch {
  using ChoiceScratch::ChoiceScratch;
};

SamplerScratch::SamplerScratch(std::size_t vocabulary)
    : impl_(std::make_unique<Impl>(vocabulary)) {}
SamplerScratch::~SamplerScratch() = default;
SamplerScratch::SamplerScratch(SamplerScratch&&) noexcept = default;
SamplerScratch& SamplerScratch::operator=(SamplerScratch&&) noexcept = default;

struct Sampler::Impl : sampling::SequenceState {
  using SequenceState::SequenceState;
};

Sampler::Sampler(std::size_t vocabulary, std::size_t max_context)
    : impl_(std::make_unique<Impl>(vocabulary, max_context)) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

void Sampler::start(std::shared_ptr<const SamplingParams> params,
                    std::span<const TokenId> end_tokens, std::uint64_t seed,
                    std::size_t prompt_tokens, float mirostat_mu) {
  require(params != nullptr, "sampler: started without parameters");
  impl_->history.clear(prompt_tokens, static_cast<std::size_t>(params->penalties.window));
  impl_->end_tokens = end_tokens;
  impl_->seed = seed;
  impl_->prompt_tokens = prompt_tokens;
  impl_->observed = 0;
  const MirostatParams& mirostat = params->mirostat;
  impl_->mirostat_mu = mirostat.version == 0 ? 0
                       : mirostat_mu == 0    ? 2 * mirostat.tau
                                             : mirostat_mu;
  impl_->constraint = params->constraint ? params->constraint->begin() : nullptr;
  impl_->untold.clear();
  impl_->params = std::move(params);
}

void Sampler::start_as(const Sampler& other, std::uint64_t seed, float mirostat_mu) {
  impl_->seed = seed;
  impl_->mirostat_mu = mirostat_mu != 0 ? mirostat_mu : other.impl_->mirostat_mu;
  if (&other == this) return;
  impl_->history.copy(other.impl_->history);
  impl_->constraint = other.impl_->constraint ? other.impl_->constraint->clone() : nullptr;
  impl_->untold = other.impl_->untold;
  impl_->params = other.impl_->params;
  impl_->end_tokens = other.impl_->end_tokens;
  impl_->prompt_tokens = other.impl_->prompt_tokens;
  impl_->observed = other.impl_->observed;
}

void Sampler::observe(std::span<const TokenId> tokens) {
  require(impl_->params != nullptr, "sampler: a token before start()");
  require(tokens.size() <= impl_->max_context - impl_->observed,
          "sampler: more tokens than max_context");
  if (impl_->constraint) {
    const std::size_t prompt =
        impl_->prompt_tokens - std::min(impl_->observed, impl_->prompt_tokens);
    const auto output = tokens.subspan(std::min(prompt, tokens.size()));
    impl_->untold.insert(impl_->untold.end(), output.begin(), output.end());
  }
  impl_->observed += tokens.size();
  if (!sampling::looks_back(*impl_->params)) return;
  for (const TokenId token : tokens) impl_->history.push(token);
}

void Sampler::prepare() {
  if (!impl_->constraint) return;
  impl_->tell_constraint();
  static_cast<void>(impl_->constraint->allowed());
}

bool Sampler::try_prepare() {
  if (impl_->constraint &&
      (impl_->untold.size() > kMostLookedUp || !impl_->constraint->is_known(impl_->untold))) {
    return false;
  }
  prepare();
  return true;
}

void Sampler::write_mask(std::span<std::uint32_t> mask) {
  require(impl_->constraint && mask.size() == (impl_->vocabulary + 31) / 32,
          "sampler: a mask of no constraint, or of another vocabulary");
  impl_->tell_constraint();
  sampling::write_mask(mask, *impl_);
  impl_->constraint->rest();
}

SampleOutcome Sampler::sample(std::span<float> logits, SamplerScratch& scratch, TokenId guess) {
  require(impl_->params != nullptr, "sampler: a choice before start()");
  require(
      logits.size() == impl_->vocabulary && scratch.impl_->candidates.size() >= impl_->vocabulary,
      "sampler: logits or scratch of another vocabulary");
  if (!impl_->constraint) return sampling::choose(logits, *impl_, *scratch.impl_, guess);
  impl_->tell_constraint();
  const SampleOutcome outcome = sampling::choose(logits, *impl_, *scratch.impl_, guess);
  impl_->constraint->rest();
  return outcome;
}

}  // namespace weft
