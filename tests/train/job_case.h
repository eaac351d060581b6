#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/train/training_case.h"
#include "weft/train/tuning_job.h"

namespace weft::test {

/// A job of some steps over a case's four sequences; a step has two micro-batches.
struct JobOptions {
  std::string name = "job";
  int threads = 1;
  std::int64_t steps = 12;
  double rate = 1e-2;
  double dropout = 0;
  float weight = 1;  ///< of each token
};

inline TuningJob job_of(const TrainingCase& golden, const JobOptions& options = {}) {
  Examples examples;
  for (int i = 0; i < 4; ++i) {
    Example example{golden.ids(i), {}};
    example.weights.assign(example.ids.size(), options.weight);
    example.weights.front() = 0;
    examples.all.push_back(std::move(example));
  }
  const BatchPlan plan{.examples = 4, .batch = 3, .tokens = 30, .seed = 7};
  return {golden.load(golden.open(), options.threads, options.dropout),
          std::move(examples),
          plan,
          {.rate = options.rate, .steps = options.steps},
          options.name};
}

/// All numbers of the pairs.
inline std::vector<float> numbers_of(const TuningJob& job) {
  std::vector<float> all;
  for (const LowRankPair& pair : job.pairs().pairs) {
    all.insert(all.end(), pair.a.begin(), pair.a.end());
    all.insert(all.end(), pair.b.begin(), pair.b.end());
  }
  return all;
}

}  // namespace weft::test
