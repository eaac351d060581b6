#pragma once

#include <vector>

#include "weft/train/step/micro_batch.h"
#include "weft/train/step/op_tape.h"
#include "weft/train/step/trained_model.h"

namespace weft {

/// Computes losses and gradients of micro-batches. A layer's input is kept on the way forward, and
/// on the way back one layer at a time is computed again (Chen et al., arXiv 1604.06174). Logits
/// stand for kLossRows tokens at a time. Owner only.
class GradientStep {
 public:
  /// Borrows the model.
  explicit GradientStep(TrainedModel& model);

  /// Returns the sum of weights[t] * -log p(targets[t]), and adds its gradient times `factor` to
  /// the pairs' gradients. The same bits whatever the number of threads. Ids and targets outside
  /// of the vocabulary, and more tokens than the model was loaded for, are a bug of the caller.
  double accumulate(const MicroBatch& batch, double factor);

  /// Returns the same sum without any gradient.
  [[nodiscard]] double loss(const MicroBatch& batch);

 private:
  void forward(const MicroBatch& batch);
  void backward();
  double predict(const MicroBatch& batch, double factor, bool trains);

  TrainedModel& model_;
  const std::vector<char> to_train_;
  OpTape layers_;
  OpTape head_;
  std::vector<std::vector<float>> inputs_;  ///< of each segment but the first
};

}  // namespace weft
