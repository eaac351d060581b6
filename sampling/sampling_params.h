#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/core/token.h"

namespace weft {

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

/// DRY ("don't repeat yourself"): a token that would make the output repeat an earlier passage of
/// more than `allowed_length` tokens loses multiplier * base^(length - allowed_length).
struct DryParams {
  float multiplier = 0;  ///< 0 = off
  float base = 1.75F;
  std::int32_t allowed_length = 2;
  std::int32_t window = 0;          ///< how many of the last tokens are looked at; 0 = all
  std::vector<TokenId> breakers{};  ///< no passage goes beyond one of these
};

/// Temperature that follows the entropy: between temperature - range and temperature + range, as
/// (entropy / its greatest) ^ exponent.
struct DynamicTemperatureParams {
  float range = 0;  ///< 0 = off
  float exponent = 1;
};

/// Mirostat (Basu et al., arXiv 2007.14966) holds the surprise of the output at `tau`.
struct MirostatParams {
  std::int32_t version = 0;  ///< 0 = off, 1 or 2
  float tau = 5;
  float eta = 0.1F;
};

/// XTC ("exclude top choices"): with `probability`, of the tokens whose probability is at least
/// `threshold` all but the least probable one are taken out.
struct XtcParams {
  float probability = 0;  ///< 0 = off
  float threshold = 0.1F;
};

/// Frustratingly simple decoding (Yang et al., arXiv 2305.12675): the model's probabilities less
/// `alpha` times those of an n-gram model of the text so far, over the `top_k` most probable tokens.
struct FsdParams {
  float alpha = 0;  ///< 0 = off
  std::int32_t top_k = 6;
  std::int32_t max_ngram = 3;
  bool randomized = false;  ///< draws from what is left instead of taking the best (Inferflow)
};

/// When a beam search may end before every beam could still improve.
enum class EarlyStopping : std::uint8_t {
  kNo,     ///< when no running beam can score better at its best attainable length as it is now
  kYes,    ///< as soon as there are num_beams finished ones
  kNever,  ///< only when no running beam can ever score better
};

struct BeamParams {
  std::int32_t num_beams = 1;  ///< 1 = no beam search
  float length_penalty = 1;    ///< scores are divided by length ^ this
  EarlyStopping early_stopping = EarlyStopping::kNo;
};

/// How a request's tokens are chosen. The steps come in the order of the members, see sampler.h.
/// Plain data: validate() says whether it makes sense.
struct SamplingParams {
  std::vector<LogitBias> logit_bias{};
  std::vector<TokenId> bad_tokens{};      ///< never chosen
  std::vector<TokenId> allowed_tokens{};  ///< when there are any, no others are chosen
  std::int32_t min_tokens = 0;            ///< before so many no end token is chosen
  bool ignore_eos = false;                ///< the model's end tokens are like any other
  PenaltyParams penalties{};
  DryParams dry{};
  FsdParams fsd{};
  float temperature = 1;  ///< 0 = the most probable
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

  std::int32_t n = 1;        ///< how many outputs
  std::int32_t best_of = 0;  ///< how many are made, of which the n most probable are given; 0 = n
  BeamParams beams{};

  bool logprobs = false;          ///< of the chosen tokens
  std::int32_t top_logprobs = 0;  ///< of so many most probable tokens at each place
  /// Logprobs are those that the model gave, or those that the token was drawn by.
  bool logprobs_after_samplers = false;
};

}  // namespace weft
