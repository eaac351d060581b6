#include "weft/train/step/gradient_step.h"

#include <algorithm>
#include <span>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/gradients/cross_entropy.h"
#include "weft/kernels/require.h"

namespace weft {

GradientStep::GradientStep(TrainedModel& model)
    : model_(model),
      to_train_(values_to_train(model)),
      layers_(model, to_train_, model.tokens()),
      head_(model, to_train_, kLossRows),
      inputs_(model.training().layers.size()) {
  constexpr auto kRows = static_cast<std::size_t>(kLossRows);
  loss_tokens_.reserve(kRows);
  loss_targets_.reserve(kRows);
  loss_weights_.reserve(kRows);
  loss_factors_.reserve(kRows);
  losses_.reserve(kRows);
}

void GradientStep::begin(const MicroBatch& batch, double factor) { start(batch, factor, true); }

double GradientStep::accumulate(const MicroBatch& batch, double factor) {
  start(batch, factor, true);
  while (!run_piece()) {
  }
  return sum_;
}

double GradientStep::loss(const MicroBatch& batch) {
  start(batch, 0, false);
  while (!run_piece()) {
  }
  return sum_;
}

void GradientStep::start(const MicroBatch& batch, double factor, bool trains) {
  const std::size_t tokens = batch.ids.size();
  require(std::cmp_less_equal(tokens, model_.tokens()) && batch.targets.size() == tokens &&
              batch.weights.size() == tokens,
          "a micro-batch of another size");
  batch_ = &batch;
  factor_ = factor;
  trains_ = trains;
  added_ = inputs_.size();
  start_again();
}

void GradientStep::start_again() {
  drop_values();
  stage_ = Stage::kForward;
  segment_ = 0;
  token_ = 0;
  sum_ = 0;
}

void GradientStep::drop_values() {
  for (Floats& input : inputs_) input = {};
  layers_.clear();
  head_.clear();
}

void GradientStep::abandon() {
  if (stage_ == Stage::kIdle) {
    drop_values();
  } else {
    start_again();
  }
  model_.floats().trim();
}

void GradientStep::forget() {
  stage_ = Stage::kIdle;
  abandon();
}

bool GradientStep::run_piece() {
  switch (stage_) {
    case Stage::kIdle:
      internal_error("no micro-batch has begun");
    case Stage::kForward:
      run_forward();
      break;
    case Stage::kHead:
      run_head();
      break;
    case Stage::kBackward:
      run_backward();
      break;
  }
  if (stage_ != Stage::kIdle) return false;
  drop_values();
  return true;
}

void GradientStep::run_forward() {
  const std::vector<Segment>& segments = model_.training().layers;
  const Segment& segment = segments[segment_];
  if (segment_ == 0) {
    const Dropout dropout{trains_ ? model_.pairs().dropout : 0, batch_->dropout_key, batch_->first};
    layers_.begin(
        {static_cast<std::int64_t>(batch_->ids.size()), batch_->ids, batch_->spans, dropout});
  }
  if (segment.in != kAbsent) layers_.keep_only(segment.in);
  layers_.forward(segment.begin, segment.end);
  // The last segment goes back from the values that it has.
  if (++segment_ == segments.size()) {
    stage_ = Stage::kHead;
  } else if (trains_ && segment.in != kAbsent) {
    inputs_[segment_ - 1] = layers_.take_value(segment.in);
  }
}

void GradientStep::run_head() {
  loss_tokens_.clear();
  loss_targets_.clear();
  loss_weights_.clear();
  loss_factors_.clear();
  const MicroBatch& batch = *batch_;
  for (; token_ < batch.ids.size() && std::cmp_less(loss_tokens_.size(), kLossRows); ++token_) {
    if (batch.weights[token_] == 0) continue;
    loss_tokens_.push_back(static_cast<std::int64_t>(token_));
    loss_targets_.push_back(batch.targets[token_]);
    loss_weights_.push_back(batch.weights[token_]);
    loss_factors_.push_back(static_cast<float>(batch.weights[token_] * factor_));
  }
  const auto count = static_cast<std::int64_t>(loss_tokens_.size());
  losses_.resize(loss_tokens_.size());
  if (count > 0) {
    const Segment& head = model_.training().head;
    const ConstRows hidden = layers_.value(head.in);
    head_.begin({count, {}, {}, {}});
    const Rows in = head_.value(head.in);
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(hidden.row(loss_tokens_[static_cast<std::size_t>(i)]), hidden.width, in.row(i));
    }
    head_.forward(head.begin, head.end);
    const CrossEntropyParams params{head_.value(head.out), loss_targets_, loss_factors_, losses_};
    model_.in_pieces([&](Share share) { cross_entropy(params, share); });
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      sum_ += double{loss_weights_[i]} * losses_[i];
    }
    if (trains_) {
      // cross_entropy() has put the gradient in the logits' place.
      head_.set_gradient(head.out, head_.take_value(head.out));
      head_.backward(head.begin, head.end, true);
      const ConstRows from = head_.gradient(head.in);
      const Rows to = layers_.gradient(head.in);
      for (std::int64_t i = 0; i < count; ++i) {
        std::copy_n(from.row(i), from.width, to.row(loss_tokens_[static_cast<std::size_t>(i)]));
      }
    }
    head_.clear();
  }
  const auto rest = std::span(batch.weights).subspan(token_);
  if (std::ranges::all_of(rest, [](float weight) { return weight == 0; })) go_back();
}

/// Turns to the segment before the last one that was gone back through, if it depends on a pair.
void GradientStep::go_back() {
  const std::vector<Segment>& segments = model_.training().layers;
  const bool more = trains_ && segment_ > 0 &&
                    to_train_[static_cast<std::size_t>(segments[segment_ - 1].out)] != 0;
  stage_ = more ? Stage::kBackward : Stage::kIdle;
}

void GradientStep::run_backward() {
  const std::size_t at = --segment_;
  const Segment& segment = model_.training().layers[at];
  if (at + 1 < inputs_.size()) {
    if (segment.in != kAbsent) {
      layers_.set_value(segment.in, std::move(inputs_[at]));
      layers_.keep_only(segment.in);
    }
    layers_.forward(segment.begin, segment.end);
  }
  layers_.backward(segment.begin, segment.end, at < added_);
  added_ = std::min(added_, at);
  go_back();
}

}  // namespace weft
