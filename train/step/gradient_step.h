#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/train/step/float_pool.h"
#include "weft/train/step/micro_batch.h"
#include "weft/train/step/op_tape.h"
#include "weft/train/step/trained_model.h"

namespace weft {

/// Computes losses and gradients of micro-batches, piece by piece. A layer's input is kept on the
/// way forward, and on the way back one layer at a time is computed again (Chen et al., arXiv
/// 1604.06174). Logits stand for kLossRows tokens at a time. Owner only.
class GradientStep {
 public:
  /// Borrows the model.
  explicit GradientStep(TrainedModel& model);
  GradientStep(const GradientStep&) = delete;  // tapes refer to a member
  GradientStep& operator=(const GradientStep&) = delete;

  /// Begins with a micro-batch, which is borrowed until it is done. Its gradient times `factor` is
  /// added to the pairs' gradients. Ids and targets outside of the vocabulary, and more tokens than
  /// the model was loaded for, are a bug of the caller.
  void begin(const MicroBatch& batch, double factor);
  /// Carries out the next piece: a segment forwards, the head for up to kLossRows tokens, or a
  /// segment backwards. Returns whether the micro-batch is done.
  bool run_piece();
  /// The sum of weights[t] * -log p(targets[t]) of a micro-batch that is done. The same bits
  /// whatever the number of threads.
  [[nodiscard]] double sum() const noexcept { return sum_; }
  /// Gives back the memory of all activations. A micro-batch that has begun begins again with the
  /// next piece, and gives the bits that it would have given: segments whose gradients have been
  /// added add none.
  void abandon();
  /// Forgets the micro-batch, and gives back the memory of all activations.
  void forget();

  /// Carries out all pieces of a micro-batch, and returns its sum.
  double accumulate(const MicroBatch& batch, double factor);
  /// Returns the sum without any gradient or dropout.
  [[nodiscard]] double loss(const MicroBatch& batch);

 private:
  enum class Stage : std::uint8_t { kIdle, kForward, kHead, kBackward };

  void start(const MicroBatch& batch, double factor, bool trains);
  void start_again();
  void drop_values();
  void run_forward();
  void run_head();
  void run_backward();
  void go_back();

  TrainedModel& model_;
  const std::vector<char> to_train_;
  OpTape layers_;
  OpTape head_;
  std::vector<Floats> inputs_;  ///< of each segment, between its way forward and its way back

  const MicroBatch* batch_ = nullptr;
  double factor_ = 0;
  bool trains_ = false;
  Stage stage_ = Stage::kIdle;
  std::size_t segment_ = 0;  ///< the next one forwards; backwards, the one behind the next one
  std::size_t token_ = 0;    ///< the head's next one
  std::size_t added_ = 0;    ///< from this segment on, gradients of pairs have been added
  double sum_ = 0;
  std::vector<std::int64_t> loss_tokens_;
  std::vector<TokenId> loss_targets_;
  std::vector<float> loss_weights_, loss_factors_, losses_;
};

}  // namespace weft
