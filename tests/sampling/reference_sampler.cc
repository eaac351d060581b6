#include "weft/tests/sampling/reference_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace weft::test {
namespace {

constexpr double kGone = -std::numeric_limits<double>::infinity();

std::size_t place(TokenId token) { return static_cast<std::size_t>(token); }

/// Returns the tokens that are left, most probable first.
std::vector<std::size_t> sorted(const Logits& logits) {
  std::vector<std::size_t> ids;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > kGone) ids.push_back(i);
  }
  std::ranges::stable_sort(ids, [&](auto a, auto b) { return logits[a] > logits[b]; });
  return ids;
}

void keep_only(Logits& logits, std::span<const std::size_t> ids) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::ranges::find(ids, i) == ids.end()) logits[i] = kGone;
  }
}

/// Returns the first of `ids` that together have the probability `mass`; at least one.
std::vector<std::size_t> first_of_mass(const std::vector<std::size_t>& ids,
                                       const std::vector<double>& probabilities, double mass) {
  std::vector<std::size_t> kept;
  double sum = 0;
  for (const std::size_t id : ids) {
    if (!kept.empty() && sum >= mass) break;
    kept.push_back(id);
    sum += probabilities[id];
  }
  return kept;
}

double entropy(const std::vector<double>& probabilities) {
  double result = 0;
  for (const double p : probabilities) {
    if (p > 0) result -= p * std::log(p);
  }
  return result;
}

void repetition(Logits& logits, const ReferenceCase& sample) {
  const PenaltyParams& penalties = sample.params.penalties;
  const std::size_t window = penalties.window == 0 ? sample.tokens.size() : place(penalties.window);
  const std::size_t begin = sample.tokens.size() - std::min(window, sample.tokens.size());
  std::vector<bool> is_done(logits.size());
  for (std::size_t i = begin; i < sample.tokens.size(); ++i) {
    const std::size_t token = place(sample.tokens[i]);
    if (is_done[token]) continue;
    is_done[token] = true;
    logits[token] = logits[token] > 0 ? logits[token] / penalties.repetition
                                      : logits[token] * penalties.repetition;
  }
}

void frequency_and_presence(Logits& logits, const ReferenceCase& sample) {
  const PenaltyParams& penalties = sample.params.penalties;
  const std::size_t window = penalties.window == 0 ? sample.tokens.size() : place(penalties.window);
  const std::size_t begin = sample.tokens.size() - std::min(window, sample.tokens.size());
  std::map<std::size_t, int> counts;
  for (std::size_t i = std::max(begin, sample.prompt_tokens); i < sample.tokens.size(); ++i) {
    ++counts[place(sample.tokens[i])];
  }
  for (const auto& [token, count] : counts) {
    logits[token] -= double{penalties.frequency} * count + double{penalties.presence};
  }
}

void dry(Logits& logits, const ReferenceCase& sample) {
  const DryParams& params = sample.params.dry;
  if (params.multiplier == 0) return;
  const auto breaks = [&](TokenId token) {
    return std::ranges::find(params.breakers, token) != params.breakers.end();
  };
  std::vector<TokenId> text = sample.tokens;
  if (params.window != 0 && text.size() > place(params.window)) {
    text.erase(text.begin(), text.end() - params.window);
  }
  std::map<TokenId, int> longest;
  for (std::size_t next = 1; next < text.size(); ++next) {
    int length = 0;
    while (length < 50 && place(length) < next) {
      const TokenId then = text[next - 1 - place(length)];
      if (then != text[text.size() - 1 - place(length)] || breaks(then)) break;
      ++length;
    }
    if (length >= params.allowed_length && !breaks(text[next])) {
      longest[text[next]] = std::max(longest[text[next]], length);
    }
  }
  for (const auto& [token, length] : longest) {
    logits[place(token)] -=
        params.multiplier * std::pow(double{params.base}, length - params.allowed_length);
  }
}

void temperature(Logits& logits, const SamplingParams& params) {
  double value = params.temperature;
  if (params.dynamic_temperature.range > 0) {
    const double low = std::max(0.0, value - params.dynamic_temperature.range);
    const double high = value + params.dynamic_temperature.range;
    const double most = std::log(static_cast<double>(sorted(logits).size()));
    const double share = most > 0 ? entropy(softmax(logits)) / most : 0;
    value = low + (high - low) * std::pow(share, double{params.dynamic_temperature.exponent});
  }
  for (double& logit : logits) logit /= value;
}

void tail_free(Logits& logits, double z) {
  const auto ids = sorted(logits);
  if (ids.size() < 3) return;
  const auto p = softmax(logits);
  std::vector<double> second;
  for (std::size_t i = 0; i + 2 < ids.size(); ++i) {
    const double first = p[ids[i]] - p[ids[i + 1]];
    second.push_back(std::abs(first - (p[ids[i + 1]] - p[ids[i + 2]])));
  }
  const double total = std::accumulate(second.begin(), second.end(), 0.0);
  if (total <= 0) return;
  std::vector<std::size_t> kept = {ids[0]};
  double sum = 0;
  for (std::size_t i = 0; i < second.size(); ++i) {
    sum += second[i] / total;
    if (sum <= z) kept.push_back(ids[i + 1]);
  }
  keep_only(logits, kept);
}

void typical(Logits& logits, double mass) {
  const auto p = softmax(logits);
  const double h = entropy(p);
  auto ids = sorted(logits);
  std::ranges::stable_sort(ids, {}, [&](std::size_t id) { return std::abs(-std::log(p[id]) - h); });
  keep_only(logits, first_of_mass(ids, p, mass));
}

void min_p(Logits& logits, double share) {
  const auto p = softmax(logits);
  const double best = *std::ranges::max_element(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] < share * best) logits[i] = kGone;
  }
}

void xtc(Logits& logits, double threshold) {
  const auto p = softmax(logits);
  std::vector<std::size_t> above;
  for (const std::size_t id : sorted(logits)) {
    if (p[id] >= threshold) above.push_back(id);
  }
  for (std::size_t i = 0; i + 1 < above.size(); ++i) logits[above[i]] = kGone;
}

void mirostat(Logits& logits, const ReferenceCase& sample) {
  const MirostatParams& params = sample.params.mirostat;
  const double mu = sample.mirostat_mu == 0 ? 2.0 * params.tau : sample.mirostat_mu;
  const auto p = softmax(logits);
  auto ids = sorted(logits);
  if (params.version == 2) {
    std::erase_if(ids, [&](std::size_t id) { return id != ids[0] && -std::log2(p[id]) > mu; });
  } else if (ids.size() > 1) {
    double products = 0;
    double squares = 0;
    for (std::size_t i = 0; i + 1 < std::min<std::size_t>(ids.size(), 100); ++i) {
      const double t = std::log((static_cast<double>(i) + 2) / (static_cast<double>(i) + 1));
      products += t * std::log(p[ids[i]] / p[ids[i + 1]]);
      squares += t * t;
    }
    const double s = products / squares;
    const double e = s - 1;
    const double n = static_cast<double>(logits.size());
    const double k = std::pow(e * std::pow(2, mu) / (1 - std::pow(n, -e)), 1 / s);
    const double kept = std::clamp(std::round(k), 1.0, static_cast<double>(ids.size()));
    ids.resize(static_cast<std::size_t>(kept));
  }
  keep_only(logits, ids);
}

}  // namespace

std::vector<double> softmax(const Logits& logits) {
  const double best = *std::ranges::max_element(logits);
  std::vector<double> result(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) sum += result[i] = std::exp(logits[i] - best);
  for (double& p : result) p /= sum;
  return result;
}

std::vector<ReferenceStep> reference_steps(const ReferenceCase& sample) {
  const SamplingParams& params = sample.params;
  const auto mask = [](Logits& logits, const std::vector<TokenId>& tokens) {
    for (const TokenId token : tokens) logits[place(token)] = kGone;
  };
  const std::size_t outputs = sample.tokens.size() - sample.prompt_tokens;
  return {
      {"logit_bias",
       [&](Logits& l) {
         for (const LogitBias& entry : params.logit_bias) l[place(entry.token)] += entry.bias;
       }},
      {"bad_tokens", [&, mask](Logits& l) { mask(l, params.bad_tokens); }},
      {"allowed_tokens",
       [&](Logits& l) {
         const std::vector<std::size_t> allowed(params.allowed_tokens.begin(),
                                                params.allowed_tokens.end());
         if (!allowed.empty()) keep_only(l, allowed);
       }},
      {"min_tokens",
       [&, mask, outputs](Logits& l) {
         if (outputs >= place(params.min_tokens)) return;
         if (!params.ignore_eos) mask(l, sample.end_tokens);
         mask(l, params.stop_tokens);
       }},
      {"repetition", [&](Logits& l) { repetition(l, sample); }},
      {"frequency_and_presence", [&](Logits& l) { frequency_and_presence(l, sample); }},
      {"dry", [&](Logits& l) { dry(l, sample); }},
      {"temperature", [&](Logits& l) { temperature(l, params); }},
      {"top_k",
       [&](Logits& l) {
         auto ids = sorted(l);
         if (params.top_k != 0) ids.resize(std::min(ids.size(), place(params.top_k)));
         keep_only(l, ids);
       }},
      {"tail_free", [&](Logits& l) { params.tfs_z < 1 ? tail_free(l, params.tfs_z) : void(); }},
      {"typical", [&](Logits& l) { params.typical_p < 1 ? typical(l, params.typical_p) : void(); }},
      {"top_p",
       [&](Logits& l) {
         if (params.top_p < 1) keep_only(l, first_of_mass(sorted(l), softmax(l), params.top_p));
       }},
      {"min_p", [&](Logits& l) { min_p(l, params.min_p); }},
      {"xtc",
       [&](Logits& l) { params.xtc.probability > 0 ? xtc(l, params.xtc.threshold) : void(); }},
      {"mirostat", [&](Logits& l) { params.mirostat.version != 0 ? mirostat(l, sample) : void(); }},
  };
}

std::vector<double> run_steps(Logits logits, std::span<const ReferenceStep> steps) {
  for (const ReferenceStep& step : steps) step.run(logits);
  return softmax(logits);
}

TokenId reference_fsd(const Logits& logits, const ReferenceCase& sample) {
  const FsdParams& fsd = sample.params.fsd;
  const std::vector<TokenId>& text = sample.tokens;
  const auto p = softmax(logits);
  auto ids = sorted(logits);
  ids.resize(std::min(ids.size(), place(fsd.top_k)));
  TokenId best = kNoToken;
  double best_score = 0;
  for (const std::size_t id : ids) {
    double remains = 1;
    double q = 0;
    for (std::size_t n = place(fsd.max_ngram) - 1; n + 1 > 0; --n) {
      double contexts = 0;
      double times = 0;
      for (std::size_t i = 0; text.size() >= n && i + n < text.size(); ++i) {
        if (!std::equal(text.end() - static_cast<std::ptrdiff_t>(n), text.end(),
                        text.begin() + static_cast<std::ptrdiff_t>(i))) {
          continue;
        }
        ++contexts;
        times += place(text[i + n]) == id ? 1 : 0;
      }
      if (times == 0) continue;
      q += n == 0 ? remains * times / contexts : remains * 0.9 * times / (contexts + 1);
      remains *= 0.1;
    }
    const double score = (1 - double{fsd.alpha}) * p[id] - double{fsd.alpha} * q;
    if (best == kNoToken || score > best_score) {
      best = static_cast<TokenId>(id);
      best_score = score;
    }
  }
  return best;
}

}  // namespace weft::test
