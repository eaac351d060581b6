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

/// A bias that is added to a token's logit.
struct LogitBias {
  TokenId token = kNoToken;
  float bias = 0;
};

/// Penalties of tokens that occur in the sequence already.
struct PenaltyParams {
  /// Divides positive logits and multiplies negative ones of tokens in the prompt or the output
  /// (CTRL, Keskar et al., arXiv 1909.05858, section 4.1); 1 = off.
  float repetition = 1;
  float frequency = 0;  ///< subtracted for each occurrence of the token in the output
  float presence = 0;   ///< subtracted once if the token occurs in the output
  /// How many last tokens of the sequence count; 0 = all.
  std::int32_t window = 0;
};

/// DRY ("don't repeat yourself", text-generation-webui, pull request 5637): if the text ends with
/// `length` >= `allowed_length` tokens that also occur earlier, the token that followed there loses
/// multiplier * base^(length - allowed_length). Lengths are compared up to
/// defaults::kMaxRepeatLength.
struct DryParams {
  float multiplier = 0;  ///< 0 = off
  float base = 1.75F;
  std::int32_t allowed_length = 2;
  std::int32_t window = 0;  ///< how many last tokens are searched; 0 = all
  /// No repeated passage extends across a breaker, and breakers get no penalty.
  std::vector<TokenId> breakers{};
};

/// A temperature that rises with the entropy from temperature - range (at least 0) to
/// temperature + range, as (entropy / greatest possible entropy) ^ exponent.
struct DynamicTemperatureParams {
  float range = 0;  ///< 0 = off
  float exponent = 1;
};

/// Mirostat (Basu et al., arXiv 2007.14966) keeps the surprise of the output at `tau`. It works on
/// the tokens that other samplers leave; for the paper's algorithm, leave other samplers off.
struct MirostatParams {
  std::int32_t version = 0;  ///< 0 = off, 1 or 2
  float tau = 5;             ///< bits
  float eta = 0.1F;          ///< how fast it follows
};

/// XTC ("exclude top choices"): with `probability`, removes all tokens with at least `threshold`
/// probability except the least probable of them.
struct XtcParams {
  float probability = 0;  ///< 0 = off
  float threshold = 0.1F;
};

/// Which guessed tokens (speculative decoding) are taken.
enum class GuessAcceptance : std::uint8_t {
  /// The guess that is the token chosen without guesses. So guesses change no output.
  kExact,
  /// Each guess that could have been drawn: a token that all samplers leave, however improbable
  /// (is_top_sampling of Algorithm 1, Inferflow, arXiv 2401.08294). Guesses are right more often,
  /// but tokens follow the drafter's distribution instead of the model's: outputs change, and
  /// depend on what is guessed, with a seed too.
  kLossyTop,
};

/// Frustratingly simple decoding (Yang et al., arXiv 2305.12675, section 3) chooses, of the top_k
/// most probable tokens, the one with the greatest (1 - alpha) P - alpha Q. P is the model's
/// probability, Q the probability by an n-gram model of prompt and output so far. FSD replaces
/// temperature and the samplers after it.
struct FsdParams {
  float alpha = 0;  ///< 0 = off
  std::int32_t top_k = 6;
  std::int32_t max_ngram = 3;
  /// Randomized FSD (Shi et al., Inferflow, arXiv 2401.08294, section 6): at each of the first
  /// `random_steps` output tokens a fair coin decides between FSD and the samplers.
  bool randomized = false;
  std::int32_t random_steps = 16;
};

/// When a beam search may end before max_tokens, as in Hugging Face's generate(). Each value needs
/// num_beams finished outputs first.
enum class EarlyStopping : std::uint8_t {
  kNo,     ///< when the best running beam, at its present length, would not be one of the best
  kYes,    ///< at once
  kNever,  ///< when the best running beam cannot become one of the best at any length
};

struct BeamParams {
  std::int32_t num_beams = 1;  ///< 1 = no beam search
  /// Scores are sums of logprobs / length ^ length_penalty: above 0 favours longer outputs.
  float length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::kNo;
};

/// How a request's tokens are chosen. The steps run in the order of the members, see sampler.h.
/// Plain data; validate() checks it.
struct SamplingParams {
  /// The application's hook, which runs before all other steps; may be null.
  std::shared_ptr<LogitProcessor> logit_processor{};
  /// Constrains the output's form, after the application's hook; may be null. Tokens that end the
  /// output are permitted where it may end; where it must end, even before min_tokens.
  std::shared_ptr<const TokenConstraint> constraint{};
  std::vector<LogitBias> logit_bias{};
  std::vector<TokenId> bad_tokens{};      ///< never chosen
  std::vector<TokenId> allowed_tokens{};  ///< if not empty, only these are chosen
  /// Until the output has this many tokens, no token that would end it is chosen.
  std::int32_t min_tokens = 0;
  /// The model's end tokens do not end the output, and min_tokens does not exclude them.
  bool ignore_eos = false;
  PenaltyParams penalties{};
  DryParams dry{};
  FsdParams fsd{};
  float temperature = 1;  ///< 0 = the most probable token, whatever the later samplers are
  DynamicTemperatureParams dynamic_temperature{};
  std::int32_t top_k = 0;  ///< 0 = all
  float tfs_z = 1;         ///< tail-free sampling; 1 = off
  float typical_p = 1;     ///< locally typical sampling (Meister et al., arXiv 2202.00666); 1 = off
  float top_p = 1;
  float min_p = 0;
  XtcParams xtc{};
  MirostatParams mirostat{};
  GuessAcceptance guess_acceptance = GuessAcceptance::kExact;
  std::optional<std::uint64_t> seed{};  ///< without: the engine chooses one
  /// Tokens that end the output; the result's text does not include them.
  std::vector<TokenId> stop_tokens{};

  std::int32_t n = 1;  ///< the number of outputs
  /// The number of outputs generated; the n with the best mean logprob are returned. 0 = n.
  std::int32_t best_of = 0;
  BeamParams beams{};

  bool logprobs = false;          ///< return logprobs of the chosen tokens
  std::int32_t top_logprobs = 0;  ///< return logprobs of this many best tokens at each position
  /// false: logprobs by the model's logits. true: by the distribution that the token was drawn
  /// from; tokens that samplers removed have none, and a token that is not drawn (temperature 0,
  /// FSD) has 0. A beam search always returns the logprobs that score its beams.
  bool logprobs_after_samplers = false;
};

/// Refuses invalid parameters, and names them:
/// - SamplingErrc::kParameterOutOfRange: NaN, infinities, negative counts, and numbers outside the
///   ranges in validate.cc. `n` and `best_of` are at most defaults::kMaxSequences.
/// - kListTooLong: more than defaults::kMaxTokenList or kMaxShortTokenList entries.
/// - kTokenNotInVocabulary: an id that is not in 0 .. vocabulary - 1.
/// - kParametersConflict: best_of below n; a constraint with ignore_eos; a beam search with a
///   sampler or a temperature other than 0 and 1 (0 and 1 leave its
///   scores unchanged), or with n above num_beams, best_of or top_logprobs; FSD with Mirostat;
///   GuessAcceptance::kLossyTop where no token is drawn (temperature 0, FSD, a beam search) or no
///   sampler removes improbable tokens (top_k, tail-free, typical, top_p, min_p, Mirostat);
///   bad_tokens, allowed_tokens and (before min_tokens) tokens that end an output, if together they
///   leave no token to choose.
/// `end_tokens` are the model's.
[[nodiscard]] Result<void> validate(const SamplingParams& params, std::size_t vocabulary,
                                    std::span<const TokenId> end_tokens = {});

}  // namespace weft
