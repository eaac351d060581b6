#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"

namespace weft {

class LogitProcessor;
class TokenConstraint;

/// Added to a token's logit.
struct LogitBias {
  TokenId token = kNoToken;
  float bias = 0;
};

/// Penalties of tokens that were there before.
struct PenaltyParams {
  /// Divides positive logits and multiplies negative ones of tokens in the prompt or the output
  /// (CTRL, Keskar et al., arXiv 1909.05858, section 4.1); 1 = off.
  float repetition = 1;
  float frequency = 0;  ///< taken off for each time the token is in the output
  float presence = 0;   ///< taken off once when it is there
  /// How many of the last tokens count; 0 = all of them.
  std::int32_t window = 0;
};

/// DRY ("don't repeat yourself", text-generation-webui, pull request 5637): when the text ends with
/// `length` tokens that stand earlier in it too, and that is `allowed_length` or more, the token
/// that followed there loses multiplier * base^(length - allowed_length). Lengths are compared up
/// to defaults::kMaxRepeatLength.
struct DryParams {
  float multiplier = 0;  ///< 0 = off
  float base = 1.75F;
  std::int32_t allowed_length = 2;
  std::int32_t window = 0;  ///< how many of the last tokens are looked at; 0 = all
  /// No passage goes beyond one of these, and they lose nothing.
  std::vector<TokenId> breakers{};
};

/// Temperature that follows the entropy: between temperature - range (but not below 0) and
/// temperature + range, as (entropy / its greatest) ^ exponent.
struct DynamicTemperatureParams {
  float range = 0;  ///< 0 = off
  float exponent = 1;
};

/// Mirostat (Basu et al., arXiv 2007.14966) holds the surprise of the output at `tau`. It works on
/// what the other samplers leave; to have it as in the paper, leave those off.
struct MirostatParams {
  std::int32_t version = 0;  ///< 0 = off, 1 or 2
  float tau = 5;             ///< bits
  float eta = 0.1F;          ///< how fast it follows
};

/// XTC ("exclude top choices"): with `probability`, of the tokens whose probability is at least
/// `threshold` all but the least probable one are taken out.
struct XtcParams {
  float probability = 0;  ///< 0 = off
  float threshold = 0.1F;
};

/// Frustratingly simple decoding (Yang et al., arXiv 2305.12675, section 3): of the top_k most
/// probable tokens the one with the greatest (1 - alpha) P - alpha Q, where P is the model's
/// probability and Q that of an n-gram model of prompt and output so far. It chooses by itself:
/// temperature and the samplers after it have no part.
struct FsdParams {
  float alpha = 0;  ///< 0 = off
  std::int32_t top_k = 6;
  std::int32_t max_ngram = 3;
  /// Randomized FSD (Shi et al., Inferflow, arXiv 2401.08294, section 6): at each of the first
  /// `random_steps` output tokens a fair coin decides between FSD and the samplers.
  bool randomized = false;
  std::int32_t random_steps = 16;
};

/// When a beam search may end before its longest output, as in Hugging Face's generate(). Always
/// only once there are num_beams finished outputs.
enum class EarlyStopping : std::uint8_t {
  kNo,     ///< when the best running beam would not be among them at its length of now
  kYes,    ///< at once
  kNever,  ///< when the best running beam cannot get among them at any length it may still reach
};

struct BeamParams {
  std::int32_t num_beams = 1;  ///< 1 = no beam search
  /// Scores are sums of logprobs divided by length ^ this: above 0 it favours the longer.
  float length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::kNo;
};

/// How a request's tokens are chosen. The steps come in the order of the members, see sampler.h.
/// Plain data: validate() says whether it makes sense.
struct SamplingParams {
  /// The application's own, before all other steps; may be null.
  std::shared_ptr<LogitProcessor> logit_processor{};
  /// What the output must look like, after the application's own say; may be null. Tokens that end
  /// the output are chosen where it may end, and there whatever min_tokens says if it must.
  std::shared_ptr<const TokenConstraint> constraint{};
  std::vector<LogitBias> logit_bias{};
  std::vector<TokenId> bad_tokens{};      ///< never chosen
  std::vector<TokenId> allowed_tokens{};  ///< when there are any, no others are chosen
  /// Before so many tokens of output nothing is chosen that would end it.
  std::int32_t min_tokens = 0;
  /// The model's end tokens end nothing and are chosen like any other, min_tokens or not.
  bool ignore_eos = false;
  PenaltyParams penalties{};
  DryParams dry{};
  FsdParams fsd{};
  float temperature = 1;  ///< 0 = the most probable, whatever the samplers after it
  DynamicTemperatureParams dynamic_temperature{};
  std::int32_t top_k = 0;  ///< 0 = all
  float tfs_z = 1;         ///< tail-free sampling; 1 = off
  float typical_p = 1;     ///< locally typical sampling (Meister et al., arXiv 2202.00666); 1 = off
  float top_p = 1;
  float min_p = 0;
  XtcParams xtc{};
  MirostatParams mirostat{};
  std::optional<std::uint64_t> seed{};  ///< without: the engine chooses one
  /// Tokens that end the output; in the result they are left out of the text.
  std::vector<TokenId> stop_tokens{};

  std::int32_t n = 1;  ///< how many outputs
  /// How many are made, of which the n with the best mean logprob are given; 0 = n.
  std::int32_t best_of = 0;
  BeamParams beams{};

  bool logprobs = false;          ///< of the chosen tokens
  std::int32_t top_logprobs = 0;  ///< of so many most probable tokens at each position
  /// Logprobs are those that the model gave, or those that the token was drawn by: of a token that
  /// the samplers took out there is none, and what is not drawn (temperature 0, FSD) has 0. A beam
  /// search's are always those that beams are scored by.
  bool logprobs_after_samplers = false;
};

/// Refuses what is out of range, by name:
/// - SamplingErrc::kParameterOutOfRange: NaN, infinities, negative counts, and what the table in
///   validate.cc does not allow. `n` and `best_of` at most defaults::kMaxSequences.
/// - kListTooLong: more than defaults::kMaxTokenList or kMaxShortTokenList entries.
/// - kTokenNotInVocabulary: an id that is not in 0 .. vocabulary - 1.
/// - kParametersConflict: best_of below n; a constraint with ignore_eos; a beam search with
/// anything that draws (a temperature
///   other than 0 and 1, which both leave its scores alone, and every sampler), with n above
///   num_beams, best_of or top_logprobs; FSD with Mirostat; bad_tokens, allowed_tokens and, below
///   min_tokens, the tokens that end an output, when they leave no token to choose.
/// `end_tokens` are the model's.
[[nodiscard]] Result<void> validate(const SamplingParams& params, std::size_t vocabulary,
                                    std::span<const TokenId> end_tokens = {});

}  // namespace weft
