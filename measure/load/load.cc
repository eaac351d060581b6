#include "weft/measure/load/load.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <random>

#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

// More tokens than any model's context has, and far from where sums of a load overflow.
constexpr std::int32_t kMostTokens = 1 << 24;
// The sigma of the logarithm of lengths that people write; in ShareGPT's and Azure's data it is 1
// to 1.3.
constexpr double kSigma = 1;

std::optional<std::int32_t> tokens_of(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > kMostTokens) return std::nullopt;
  return value;
}

/// The probability that a standard normal variable is at most `x`.
double below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

/// The mean of a log-normal distribution whose values are cut to `high`.
double cut_mean(double mu, double high) {
  const double place = (std::log(high) - mu) / kSigma;
  return std::exp(mu + kSigma * kSigma / 2) * below(place - kSigma) + high * (1 - below(place));
}

/// Finds the mu whose distribution has the wanted mean after the cut.
double mu_of(const Lengths& lengths) {
  double low = -kSigma * kSigma;
  double high = std::log(static_cast<double>(lengths.high)) + 8 * kSigma;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (cut_mean(middle, lengths.high) < lengths.mean ? low : high) = middle;
  }
  return low;
}

/// Draws numbers of tokens, one after the other.
class LengthSource {
 public:
  LengthSource(const Lengths& lengths, std::uint64_t seed)
      : lengths_(lengths),
        random_(seed),
        even_(lengths.low, lengths.high),
        skewed_(mu_of(lengths), kSigma) {}

  std::int32_t next() {
    switch (lengths_.kind) {
      case Lengths::Kind::kFixed:
        return lengths_.low;
      case Lengths::Kind::kUniform:
        return even_(random_);
      case Lengths::Kind::kSkewed:
        break;
    }
    const double drawn =
        std::clamp<double>(std::round(skewed_(random_)), lengths_.low, lengths_.high);
    return static_cast<std::int32_t>(drawn);
  }

 private:
  const Lengths lengths_;
  std::mt19937_64 random_;
  std::uniform_int_distribution<std::int32_t> even_;
  std::lognormal_distribution<double> skewed_;
};

/// Draws intervals between arrivals.
class IntervalSource {
 public:
  IntervalSource(const LoadShape& shape, std::uint64_t seed)
      : shape_(shape),
        random_(seed),
        poisson_(shape.per_second),
        bursty_(shape.burstiness, 1 / (shape.burstiness * shape.per_second)) {}

  double next() {
    switch (shape_.process) {
      case Process::kAtOnce:
        return 0;
      case Process::kConstant:
        return 1 / shape_.per_second;
      case Process::kPoisson:
        return poisson_(random_);
      case Process::kBursty:
        break;
    }
    return bursty_(random_);
  }

 private:
  const LoadShape shape_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> poisson_;
  std::gamma_distribution<double> bursty_;
};

}  // namespace

Result<Lengths> Lengths::parse(std::string_view text) {
  constexpr std::string_view kMean = "mean:";
  const auto bad = [text] {
    return Error{MeasureErrc::kBadLoad,
                 "\"" + std::string(text) +
                     "\": a number of tokens, as 128, 8..64, mean:161 or mean:161..1024"};
  };
  const bool skewed = text.starts_with(kMean);
  std::string_view rest = text;
  if (skewed) rest.remove_prefix(kMean.size());
  const auto dots = rest.find("..");
  const auto first = tokens_of(rest.substr(0, dots));
  if (!first) return bad();
  Lengths lengths;
  lengths.mean = *first;
  lengths.low = skewed ? 1 : *first;
  lengths.high = skewed ? kMostTokens : *first;
  if (skewed) lengths.kind = Kind::kSkewed;
  if (dots != std::string_view::npos) {
    const auto last = tokens_of(rest.substr(dots + 2));
    if (!last || *last < *first) return bad();
    lengths.high = *last;
    if (!skewed) lengths.kind = Kind::kUniform;
  }
  return lengths;
}

std::string to_string(const Lengths& lengths) {
  switch (lengths.kind) {
    case Lengths::Kind::kFixed:
      return std::to_string(lengths.low);
    case Lengths::Kind::kUniform:
      return std::to_string(lengths.low) + ".." + std::to_string(lengths.high);
    case Lengths::Kind::kSkewed:
      break;
  }
  std::string text = "mean:" + std::to_string(static_cast<std::int32_t>(lengths.mean));
  if (lengths.high != kMostTokens) text += ".." + std::to_string(lengths.high);
  return text;
}

std::vector<Arrival> draw(const LoadShape& shape, std::uint64_t seed) {
  std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
  std::array<std::uint32_t, 6> drawn{};
  seeds.generate(drawn.begin(), drawn.end());
  const auto seed_of = [&drawn](std::size_t stream) {
    return (std::uint64_t{drawn[2 * stream]} << 32U) | drawn[2 * stream + 1];
  };
  IntervalSource intervals(shape, seed_of(0));
  LengthSource prompts(shape.prompt, seed_of(1));
  LengthSource outputs(shape.output, seed_of(2));
  std::vector<Arrival> arrivals;
  arrivals.reserve(shape.requests);
  double at = 0;
  for (std::size_t i = 0; i < shape.requests; ++i) {
    if (i != 0) at += intervals.next();
    arrivals.push_back({at, prompts.next(), outputs.next(), shape.cls});
  }
  return arrivals;
}

std::vector<Arrival> merge(const std::vector<Arrival>& one, const std::vector<Arrival>& other) {
  std::vector<Arrival> all(one);
  all.insert(all.end(), other.begin(), other.end());
  std::ranges::stable_sort(all, {}, &Arrival::at);
  return all;
}

}  // namespace weft::measure
