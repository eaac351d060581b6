#include "weft/sampling/steps/mirostat.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/sampling/portable_math.h"

namespace weft::sampling {
namespace {

/// The paper's m: from how many most probable tokens the exponent is estimated.
constexpr std::size_t kEstimatedFrom = 100;

/// Zipf's exponent by least squares: the sum of t b over the sum of t^2, t_i = ln((i + 1) / i) and
/// b_i = ln(p_i / p_(i+1)) (section 4.1 there).
double zipf_exponent(Candidates candidates) {
  const std::size_t count = std::min(kEstimatedFrom, candidates.size());
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const double t = portable_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    const double b = static_cast<double>(candidates[i].distance) -
                     static_cast<double>(candidates[i + 1].distance);
    products += t * b;
    squares += t * t;
  }
  return products / squares;
}

/// ln of (e / (1 - N^-e))  for e > -1, which is 1 / ln N at e = 0.
double log_of_quotient(double e, double log_n) {
  const double x = e * log_n;
  // Near 0 the quotient loses its digits; the series' omitted terms are below x^2 / 12.
  if (std::abs(x) < 1e-5) return x / 2 - portable_log(log_n);
  return portable_log(e / (1 - portable_exp(-x)));
}

/// k = (e 2^mu / (1 - N^-e)) ^ (1 / s), e = s - 1, as its logarithm.
double log_of_k(double s, float mu, std::size_t vocabulary) {
  const double log_n = portable_log(static_cast<double>(std::max<std::size_t>(vocabulary, 2)));
  return (log_of_quotient(s - 1, log_n) + static_cast<double>(mu) * kLn2) / s;
}

Candidates keep_by_rank(Candidates candidates, float mu, std::size_t vocabulary) {
  if (candidates.size() < 2) return candidates;
  // Equal probabilities have the exponent 0; then mu decides between all tokens and one.
  const double s = std::max(zipf_exponent(candidates), 1e-6);
  const double log_k = log_of_k(s, mu, vocabulary);
  const double all = static_cast<double>(candidates.size());
  if (log_k >= portable_log(all)) return candidates;
  const double k = std::floor(portable_exp(log_k) + 0.5);
  return candidates.first(static_cast<std::size_t>(std::clamp(k, 1.0, all)));
}

Candidates keep_by_surprise(Candidates candidates, float mu) {
  const double mass = mass_of(candidates);
  const auto end = std::ranges::partition_point(candidates, [&](const Candidate& candidate) {
    return surprise_of(candidate, mass) <= static_cast<double>(mu);
  });
  const auto kept = static_cast<std::size_t>(end - candidates.begin());
  return candidates.first(std::max<std::size_t>(kept, 1));
}

}  // namespace

Candidates mirostat_keep(Candidates candidates, const MirostatParams& params, float mu,
                         std::size_t vocabulary) {
  return params.version == 1 ? keep_by_rank(candidates, mu, vocabulary)
                             : keep_by_surprise(candidates, mu);
}

float mirostat_next(float mu, const MirostatParams& params, double surprise) {
  const float next =
      mu - params.eta * static_cast<float>(surprise - static_cast<double>(params.tau));
  return next == 0 ? std::numeric_limits<float>::min() : next;
}

double surprise_of(const Candidate& candidate, double mass) {
  return (portable_log(mass) - static_cast<double>(candidate.distance)) / kLn2;
}

}  // namespace weft::sampling
