#include "weft/measure/recipes/padded_batches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::measure {
namespace {

constexpr std::size_t kUnknowns = 3;
/// The normal equations, each followed by its right-hand side.
using Equations = std::array<std::array<double, kUnknowns + 1>, kUnknowns>;

/// Solves the equations; unknowns that they do not determine are 0.
std::array<double, kUnknowns> solve(Equations equations) {
  std::array<std::size_t, kUnknowns> row_of{};
  row_of.fill(kUnknowns);
  std::size_t next = 0;
  for (std::size_t column = 0; column < kUnknowns; ++column) {
    std::size_t best = next;
    for (std::size_t row = next; row < kUnknowns; ++row) {
      if (std::abs(equations[row][column]) > std::abs(equations[best][column])) best = row;
    }
    if (next == kUnknowns || std::abs(equations[best][column]) < 1e-9) continue;
    std::swap(equations[next], equations[best]);
    for (std::size_t row = 0; row < kUnknowns; ++row) {
      if (row == next) continue;
      const double times = equations[row][column] / equations[next][column];
      for (std::size_t i = column; i <= kUnknowns; ++i) {
        equations[row][i] -= times * equations[next][i];
      }
    }
    row_of[column] = next++;
  }
  std::array<double, kUnknowns> values{};
  for (std::size_t column = 0; column < kUnknowns; ++column) {
    const std::size_t row = row_of[column];
    if (row < kUnknowns) values[column] = equations[row][kUnknowns] / equations[row][column];
  }
  return values;
}

}  // namespace

StepCosts StepCosts::of(const std::vector<StepRecord>& steps) {
  Equations equations{};
  for (const StepRecord& step : steps) {
    const std::array<double, kUnknowns + 1> terms = {1, static_cast<double>(step.decodes),
                                                     static_cast<double>(step.prefill_tokens),
                                                     step.seconds()};
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      for (std::size_t j = 0; j <= kUnknowns; ++j) equations[i][j] += terms[i] * terms[j];
    }
  }
  const auto values = solve(equations);
  return {std::max(values[0], 0.0), std::max(values[1], 0.0), std::max(values[2], 0.0)};
}

std::vector<Outcome> padded_batches(const std::vector<Arrival>& arrivals, std::size_t rows,
                                    const StepCosts& costs) {
  std::vector<Outcome> outcomes;
  double free_at = 0;
  for (std::size_t first = 0; first < arrivals.size();) {
    const double begin = std::max(free_at, arrivals[first].at);
    std::int64_t prompts = 0;
    std::int32_t longest = 0;
    std::size_t behind = first;
    for (; behind < arrivals.size() && behind - first < rows && arrivals[behind].at <= begin;
         ++behind) {
      prompts += arrivals[behind].prompt;
      longest = std::max(longest, arrivals[behind].output);
    }
    const auto sequences = static_cast<double>(behind - first);
    // The first token of each sequence comes with its prompt, so decoding begins with the second.
    free_at = begin + costs.step + costs.prompt_token * static_cast<double>(prompts) +
              (longest - 1) * (costs.step + costs.decode * sequences);
    for (; first < behind; ++first) {
      const Arrival& arrival = arrivals[first];
      Outcome one;
      one.asked = arrival;
      one.began = one.sent = arrival.at;
      one.prompt = arrival.prompt;
      one.output = arrival.output;
      one.end = free_at - arrival.at;
      outcomes.push_back(std::move(one));
    }
  }
  return outcomes;
}

}  // namespace weft::measure
