#include "weft/sampling/steps/truncation.h"

#include <algorithm>
#include <cmath>

#include "weft/sampling/portable_math.h"

namespace weft::sampling {
namespace {

double weight_at(Candidates candidates, std::size_t i) {
  return static_cast<double>(candidates[i].weight);
}

/// The mean distance, which stands for the entropy: distances differ from surprises by sign and the
/// constant ln(mass).
double mean_distance(Candidates candidates, double mass) {
  double sum = 0;
  for (const Candidate& candidate : candidates) {
    sum += static_cast<double>(candidate.weight) * static_cast<double>(candidate.distance);
  }
  return sum / mass;
}

}  // namespace

Candidates tail_free(Candidates candidates, float z) {
  if (candidates.size() < 3) return candidates;
  const auto curvature = [&](std::size_t i) {
    return std::abs(weight_at(candidates, i) - 2 * weight_at(candidates, i + 1) +
                    weight_at(candidates, i + 2));
  };
  const std::size_t count = candidates.size() - 2;
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += curvature(i);
  if (!(total > 0)) return candidates;
  const double most = static_cast<double>(z) * total;
  double sum = 0;
  std::size_t kept = 1;
  for (std::size_t i = 0; i < count; ++i, ++kept) {
    sum += curvature(i);
    if (sum > most) break;
  }
  return candidates.first(kept);
}

Candidates typical(Candidates candidates, float p) {
  const double mass = mass_of(candidates);
  const double mean = mean_distance(candidates, mass);
  // Distances fall, so the candidates nearest the mean are contiguous. The range grows towards the
  // side whose next candidate is nearer.
  const auto deviation = [&](std::size_t i) {
    return std::abs(static_cast<double>(candidates[i].distance) - mean);
  };
  const auto middle = std::ranges::partition_point(candidates, [&](const Candidate& candidate) {
    return static_cast<double>(candidate.distance) > mean;
  });
  auto begin = static_cast<std::size_t>(middle - candidates.begin());
  std::size_t end = begin;
  double sum = 0;
  while (end - begin < candidates.size() && (end == begin || sum < static_cast<double>(p) * mass)) {
    const bool upwards =
        begin > 0 && (end == candidates.size() || deviation(begin - 1) <= deviation(end));
    sum += weight_at(candidates, upwards ? --begin : end++);
  }
  return candidates.subspan(begin, end - begin);
}

Candidates top_p(Candidates candidates, float p) {
  const double mark = static_cast<double>(p) * mass_of(candidates);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || sum < mark)) {
    sum += weight_at(candidates, kept++);
  }
  return candidates.first(kept);
}

Candidates min_p(Candidates candidates, float p) {
  if (candidates.empty()) return candidates;
  const double least = static_cast<double>(p) * weight_at(candidates, 0);
  std::size_t kept = 1;
  while (kept < candidates.size() && weight_at(candidates, kept) >= least) ++kept;
  return candidates.first(kept);
}

Candidates exclude_top_choices(Candidates candidates, float threshold) {
  const double least = static_cast<double>(threshold) * mass_of(candidates);
  std::size_t top = 0;
  while (top < candidates.size() && weight_at(candidates, top) >= least) ++top;
  return top < 2 ? candidates : candidates.subspan(top - 1);
}

}  // namespace weft::sampling
