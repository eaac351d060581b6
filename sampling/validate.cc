#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/sampling/defaults.h"
#include "weft/sampling/sampling_error.h"
#include "weft/sampling/sampling_params.h"

namespace weft {
namespace {

constexpr std::int32_t kAnyCount = std::numeric_limits<std::int32_t>::max();

template <class Number>
std::string text_of(Number number) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

/// A number and its valid range.
template <class Number>
struct Range {
  std::string_view name;
  Number value;
  Number least;
  Number most;
  bool without_least = false;  ///< the range excludes its least number
};

template <class Number>
Result<void> check(std::initializer_list<Range<Number>> ranges) {
  for (const Range<Number>& range : ranges) {
    // NaN is outside, since both comparisons are false.
    const bool above = range.without_least ? range.value > range.least : range.value >= range.least;
    if (above && range.value <= range.most) continue;
    std::string detail = std::string(range.name) + ": " + text_of(range.value) + " is not ";
    detail += range.without_least ? "above " + text_of(range.least) + " and at most "
                                  : "in " + text_of(range.least) + " .. ";
    return Error{SamplingErrc::kParameterOutOfRange, detail + text_of(range.most)};
  }
  return {};
}

/// A list of tokens and its greatest length.
struct TokenList {
  std::string_view name;
  std::span<const TokenId> tokens;
  std::size_t most;
};

Error no_such_token(std::string_view name, TokenId token, std::size_t vocabulary) {
  return {SamplingErrc::kTokenNotInVocabulary,
          std::string(name) + ": " + text_of(token) + " is not in 0 .. " +
              text_of(static_cast<std::int64_t>(vocabulary) - 1)};
}

bool in_vocabulary(TokenId token, std::size_t vocabulary) {
  return token >= 0 && static_cast<std::size_t>(token) < vocabulary;
}

Result<void> check_length(std::string_view name, std::size_t length, std::size_t most) {
  if (length <= most) return {};
  return Error{SamplingErrc::kListTooLong,
               std::string(name) + ": " + text_of(length) + " entries, at most " + text_of(most)};
}

Result<void> check_lists(const SamplingParams& params, std::size_t vocabulary) {
  for (const TokenList& list :
       {TokenList{"bad_tokens", params.bad_tokens, defaults::kMaxTokenList},
        TokenList{"allowed_tokens", params.allowed_tokens, defaults::kMaxTokenList},
        TokenList{"stop_tokens", params.stop_tokens, defaults::kMaxShortTokenList},
        TokenList{"dry.breakers", params.dry.breakers, defaults::kMaxShortTokenList}}) {
    if (auto checked = check_length(list.name, list.tokens.size(), list.most); !checked) {
      return checked;
    }
    for (const TokenId token : list.tokens) {
      if (!in_vocabulary(token, vocabulary)) return no_such_token(list.name, token, vocabulary);
    }
  }
  return {};
}

Result<void> check_logit_bias(const SamplingParams& params, std::size_t vocabulary) {
  const auto& biases = params.logit_bias;
  if (auto checked = check_length("logit_bias", biases.size(), defaults::kMaxTokenList); !checked) {
    return checked;
  }
  for (const LogitBias& entry : biases) {
    if (!in_vocabulary(entry.token, vocabulary)) {
      return no_such_token("logit_bias", entry.token, vocabulary);
    }
    const std::string name = "logit_bias of token " + text_of(entry.token);
    if (auto checked = check<float>({{name, entry.bias, -100, 100}}); !checked) return checked;
  }
  return {};
}

/// Checks the parameters that change logits.
Result<void> check_edits(const SamplingParams& params) {
  const PenaltyParams& penalties = params.penalties;
  if (auto checked = check<float>({
          {"penalties.repetition", penalties.repetition, 0.01F, 100},
          {"penalties.frequency", penalties.frequency, -2, 2},
          {"penalties.presence", penalties.presence, -2, 2},
          {"dry.multiplier", params.dry.multiplier, 0, 100},
          {"dry.base", params.dry.base, 1, 100},
          {"fsd.alpha", params.fsd.alpha, 0, 1},
      });
      !checked) {
    return checked;
  }
  return check<std::int32_t>({
      {"min_tokens", params.min_tokens, 0, kAnyCount},
      {"penalties.window", penalties.window, 0, kAnyCount},
      {"dry.allowed_length", params.dry.allowed_length, 1, defaults::kMaxRepeatLength},
      {"dry.window", params.dry.window, 0, kAnyCount},
      {"fsd.top_k", params.fsd.top_k, 1, defaults::kMaxFsdTopK},
      {"fsd.max_ngram", params.fsd.max_ngram, 1, defaults::kMaxFsdNgram},
      {"fsd.random_steps", params.fsd.random_steps, 0, kAnyCount},
  });
}

/// Checks the parameters of samplers.
Result<void> check_samplers(const SamplingParams& params) {
  if (auto checked = check<float>({
          {"temperature", params.temperature, 0, 100},
          {"dynamic_temperature.range", params.dynamic_temperature.range, 0, 100},
          {"dynamic_temperature.exponent", params.dynamic_temperature.exponent, 0, 100},
          {"tfs_z", params.tfs_z, 0, 1, true},
          {"typical_p", params.typical_p, 0, 1, true},
          {"top_p", params.top_p, 0, 1},
          {"min_p", params.min_p, 0, 1},
          {"xtc.probability", params.xtc.probability, 0, 1},
          {"xtc.threshold", params.xtc.threshold, 0, 1},
          {"mirostat.tau", params.mirostat.tau, 0, 100},
          {"mirostat.eta", params.mirostat.eta, 0, 1},
      });
      !checked) {
    return checked;
  }
  return check<std::int32_t>({
      {"top_k", params.top_k, 0, kAnyCount},
      {"mirostat.version", params.mirostat.version, 0, 2},
  });
}

Result<void> check_outputs(const SamplingParams& params) {
  if (auto checked = check<float>({{"beams.length_penalty", params.beams.length_penalty, -10, 10}});
      !checked) {
    return checked;
  }
  return check<std::int32_t>({
      {"n", params.n, 1, defaults::kMaxSequences},
      {"best_of", params.best_of, 0, defaults::kMaxSequences},
      {"beams.num_beams", params.beams.num_beams, 1, defaults::kMaxSequences},
      {"top_logprobs", params.top_logprobs, 0, defaults::kMaxUserTopLogprobs},
  });
}

/// Checks that an enumeration's value is one of those up to `last`.
template <class Enum>
Result<void> check_one_of(std::string_view name, Enum value, Enum last) {
  if (value <= last) return {};
  return Error{SamplingErrc::kParameterOutOfRange,
               std::string(name) + ": " + text_of(static_cast<int>(value)) + " has no meaning"};
}

Result<void> check_enumerators(const SamplingParams& params) {
  auto checked =
      check_one_of("beams.early_stopping", params.beams.early_stopping, EarlyStopping::kNever);
  if (!checked) return checked;
  return check_one_of("guess_acceptance", params.guess_acceptance, GuessAcceptance::kLossyTop);
}

/// The names of two parameters that exclude each other.
struct Conflict {
  bool holds;
  std::string_view one;
  std::string_view other;
};

/// Whether a sampler removes improbable tokens.
bool removes_improbable(const SamplingParams& params) {
  return params.top_k > 0 || params.tfs_z < 1 || params.typical_p < 1 || params.top_p < 1 ||
         params.min_p > 0 || params.mirostat.version != 0;
}

Result<void> check_conflicts(const SamplingParams& params) {
  const bool has_beams = params.beams.num_beams > 1;
  const bool has_temperature = params.temperature != 0 && params.temperature != 1;
  const bool is_lossy = params.guess_acceptance == GuessAcceptance::kLossyTop;
  for (const Conflict& conflict : {
           Conflict{params.best_of != 0 && params.best_of < params.n, "best_of", "a greater n"},
           Conflict{params.fsd.alpha > 0 && params.mirostat.version != 0, "fsd", "mirostat"},
           Conflict{params.constraint != nullptr && params.ignore_eos, "ignore_eos",
                    "a constraint"},
           Conflict{has_beams && params.n > params.beams.num_beams, "n", "fewer beams.num_beams"},
           Conflict{has_beams && params.best_of != 0, "best_of", "beams"},
           Conflict{has_beams && params.top_logprobs != 0, "top_logprobs", "beams"},
           Conflict{has_beams && has_temperature, "temperature", "beams"},
           Conflict{has_beams && params.dynamic_temperature.range > 0, "dynamic_temperature",
                    "beams"},
           Conflict{has_beams && params.fsd.alpha > 0, "fsd", "beams"},
           Conflict{has_beams && params.top_k != 0, "top_k", "beams"},
           Conflict{has_beams && params.tfs_z < 1, "tfs_z", "beams"},
           Conflict{has_beams && params.typical_p < 1, "typical_p", "beams"},
           Conflict{has_beams && params.top_p < 1, "top_p", "beams"},
           Conflict{has_beams && params.min_p > 0, "min_p", "beams"},
           Conflict{has_beams && params.xtc.probability > 0, "xtc", "beams"},
           Conflict{has_beams && params.mirostat.version != 0, "mirostat", "beams"},
           Conflict{is_lossy && has_beams, "guess_acceptance", "beams"},
           Conflict{is_lossy && params.fsd.alpha > 0, "guess_acceptance", "fsd"},
           Conflict{is_lossy && params.temperature == 0, "guess_acceptance", "temperature 0"},
           Conflict{is_lossy && !removes_improbable(params), "guess_acceptance",
                    "no top_k, top_p, min_p, typical_p, tfs_z or mirostat.version, so that each "
                    "guess would be taken"},
       }) {
    if (!conflict.holds) continue;
    return Error{SamplingErrc::kParametersConflict,
                 std::string(conflict.one) + " with " + std::string(conflict.other)};
  }
  return {};
}

/// Returns the tokens sorted, each once.
std::vector<TokenId> set_of(std::vector<TokenId> tokens) {
  std::ranges::sort(tokens);
  const auto rest = std::ranges::unique(tokens);
  tokens.erase(rest.begin(), rest.end());
  return tokens;
}

/// Checks that the lists leave a token to choose before min_tokens, when the most are masked.
Result<void> check_something_left(const SamplingParams& params, std::size_t vocabulary,
                                  std::span<const TokenId> end_tokens) {
  std::vector<TokenId> masked = params.bad_tokens;
  if (params.min_tokens > 0) {
    masked.insert(masked.end(), params.stop_tokens.begin(), params.stop_tokens.end());
    if (!params.ignore_eos) masked.insert(masked.end(), end_tokens.begin(), end_tokens.end());
  }
  masked = set_of(std::move(masked));
  const auto is_masked = [&](TokenId token) { return std::ranges::binary_search(masked, token); };
  const auto& allowed = params.allowed_tokens;
  const bool nothing_left =
      allowed.empty() ? masked.size() >= vocabulary : std::ranges::all_of(allowed, is_masked);
  if (!nothing_left) return {};
  const std::string_view first = allowed.empty() ? "bad_tokens" : "allowed_tokens";
  const bool by_bad = !params.bad_tokens.empty() && !allowed.empty();
  const std::string_view other = by_bad ? " with bad_tokens" : "";
  const std::string_view ends = params.min_tokens > 0 ? " before min_tokens" : "";
  return Error{
      SamplingErrc::kParametersConflict,
      std::string(first) + ": no token is left to choose" + std::string(other) + std::string(ends)};
}

}  // namespace

Result<void> validate(const SamplingParams& params, std::size_t vocabulary,
                      std::span<const TokenId> end_tokens) {
  for (auto&& checked : {check_edits(params), check_samplers(params), check_outputs(params),
                         check_enumerators(params), check_conflicts(params),
                         check_logit_bias(params, vocabulary), check_lists(params, vocabulary)}) {
    if (!checked) return checked;
  }
  return check_something_left(params, vocabulary, end_tokens);
}

}  // namespace weft
