#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/model/open_model.h"
#include "weft/tests/train/training_case.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/program/training_program.h"
#include "weft/train/random_numbers.h"
#include "weft/train/step/gradient_step.h"
#include "weft/train/step/micro_batch.h"
#include "weft/train/step/trained_model.h"

namespace weft::test {

/// The greatest difference, as a part of the greatest number.
inline double difference(const std::vector<float>& got, const std::vector<float>& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double worst = 0;
  double size = 0;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    worst = std::max(worst, std::abs(double{got[i]} - wanted[i]));
    size = std::max(size, std::abs(double{wanted[i]}));
  }
  return worst / size;
}

/// The gradients of the mean loss of some micro-batches together.
inline std::vector<LowRankPair> gradients_of(TrainedModel& model,
                                             const std::vector<MicroBatch>& batches) {
  double weight = 0;
  for (const MicroBatch& batch : batches) weight += weight_of(batch);
  GradientStep step(model);
  for (const MicroBatch& batch : batches) step.accumulate(batch, 1 / weight);
  return model.pairs().pairs;
}

inline double worst_difference(const std::vector<LowRankPair>& got,
                               const std::vector<LowRankPair>& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max({worst, difference(got[i].a_gradient, wanted[i].a_gradient),
                      difference(got[i].b_gradient, wanted[i].b_gradient)});
  }
  return worst;
}

inline PairSettings all_roles() {
  PairSettings settings{.rank = 2, .alpha = 3, .roles = {}, .seed = 1};
  for (const char* name : {"q", "k", "v", "o", "gate", "up", "down"})
    settings.roles.insert(target_role(name).value());
  return settings;
}

/// New pairs in all places, with random numbers in B too.
inline LowRankPairs random_pairs(const TrainingProgram& training,
                                 const Architecture& architecture) {
  LowRankPairs pairs = make_pairs(training, architecture, all_roles()).value();
  RandomNumbers random(2);
  for (LowRankPair& pair : pairs.pairs) {
    for (float& number : pair.b) number = 0.6F * (random.uniform() - 0.5F);
  }
  return pairs;
}

/// Sequences of 3 and 14 tokens: the second reaches windows (6) and the long set of LongRoPE (12).
inline MicroBatch random_batch(std::int64_t vocabulary) {
  RandomNumbers random(3);
  MicroBatch batch;
  for (const std::size_t count : {std::size_t{3}, std::size_t{14}}) {
    std::vector<TokenId> ids(count);
    for (TokenId& id : ids)
      id = static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocabulary)));
    append(batch, ids, 1);
  }
  return batch;
}

inline double gradient_norm(const LowRankPairs& pairs) {
  double squares = 0;
  for (const LowRankPair& pair : pairs.pairs) {
    for (const float number : pair.a_gradient) squares += double{number} * number;
    for (const float number : pair.b_gradient) squares += double{number} * number;
  }
  return std::sqrt(squares);
}

/// Moves all pairs along a copy's gradients.
inline void move(LowRankPairs& pairs, const LowRankPairs& along, double distance) {
  const auto factor = static_cast<float>(distance / gradient_norm(along));
  for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
    LowRankPair& pair = pairs.pairs[i];
    for (std::size_t k = 0; k < pair.a.size(); ++k)
      pair.a[k] += factor * along.pairs[i].a_gradient[k];
    for (std::size_t k = 0; k < pair.b.size(); ++k)
      pair.b[k] += factor * along.pairs[i].b_gradient[k];
  }
}

}  // namespace weft::test
