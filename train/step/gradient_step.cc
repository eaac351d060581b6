#include "weft/train/step/gradient_step.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "weft/kernels/gradients/cross_entropy.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

/// Tokens whose losses are computed at once, with their targets and weights.
struct LossRows {
  std::vector<std::int64_t> tokens;
  std::vector<TokenId> targets;
  std::vector<float> weights;
  std::vector<float> factors;  ///< of the gradient
  std::vector<float> losses;
};

/// The next tokens from `*at` on that have a weight.
LossRows next_rows(const MicroBatch& batch, double factor, std::size_t& at) {
  LossRows rows;
  for (; at < batch.ids.size() && std::cmp_less(rows.tokens.size(), kLossRows); ++at) {
    if (batch.weights[at] == 0) continue;
    rows.tokens.push_back(static_cast<std::int64_t>(at));
    rows.targets.push_back(batch.targets[at]);
    rows.weights.push_back(batch.weights[at]);
    rows.factors.push_back(static_cast<float>(batch.weights[at] * factor));
  }
  rows.losses.resize(rows.tokens.size());
  return rows;
}

}  // namespace

GradientStep::GradientStep(TrainedModel& model)
    : model_(model),
      to_train_(values_to_train(model)),
      layers_(model, to_train_),
      head_(model, to_train_) {}

double GradientStep::accumulate(const MicroBatch& batch, double factor) {
  forward(batch);
  const double loss = predict(batch, factor, true);
  backward();
  return loss;
}

double GradientStep::loss(const MicroBatch& batch) {
  forward(batch);
  return predict(batch, 0, false);
}

void GradientStep::forward(const MicroBatch& batch) {
  const std::size_t tokens = batch.ids.size();
  require(std::cmp_less_equal(tokens, model_.tokens()) && batch.targets.size() == tokens &&
              batch.weights.size() == tokens,
          "a micro-batch of another size");
  inputs_.clear();
  layers_.begin({static_cast<std::int64_t>(tokens), batch.ids, batch.spans});
  for (const Segment& segment : model_.training().layers) {
    if (segment.in != kAbsent) {
      layers_.keep_only(segment.in);
      const Rows in = layers_.value(segment.in);
      inputs_.emplace_back(in.data, in.data + in.count * in.width);
    }
    layers_.forward(segment.begin, segment.end);
  }
}

double GradientStep::predict(const MicroBatch& batch, double factor, bool trains) {
  const Segment& head = model_.training().head;
  const Rows hidden = layers_.value(head.in);
  double sum = 0;
  for (std::size_t at = 0; at < batch.ids.size();) {
    LossRows rows = next_rows(batch, factor, at);
    const auto count = static_cast<std::int64_t>(rows.tokens.size());
    if (count == 0) break;
    head_.begin({count, {}, {}});
    const Rows in = head_.value(head.in);
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(hidden.row(rows.tokens[static_cast<std::size_t>(i)]), hidden.width, in.row(i));
    }
    head_.forward(head.begin, head.end);
    const CrossEntropyParams params{head_.value(head.out), rows.targets, rows.factors, rows.losses};
    model_.in_pieces([&](Share share) { cross_entropy(params, share); });
    for (std::size_t i = 0; i < rows.losses.size(); ++i) {
      sum += double{rows.weights[i]} * rows.losses[i];
    }
    if (!trains) continue;
    head_.set_gradient(head.out, head_.take_value(head.out));
    head_.backward(head.begin, head.end);
    const Rows from = head_.gradient(head.in);
    const Rows to = layers_.gradient(head.in);
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(from.row(i), from.width, to.row(rows.tokens[static_cast<std::size_t>(i)]));
    }
  }
  return sum;
}

void GradientStep::backward() {
  const std::vector<Segment>& segments = model_.training().layers;
  for (std::size_t i = segments.size(); i-- > 0;) {
    const Segment& segment = segments[i];
    if (to_train_[static_cast<std::size_t>(segment.out)] == 0) break;
    if (i + 1 < segments.size()) {
      if (segment.in != kAbsent) {
        layers_.set_value(segment.in, std::move(inputs_[i - 1]));
        layers_.keep_only(segment.in);
      }
      layers_.forward(segment.begin, segment.end);
    }
    layers_.backward(segment.begin, segment.end);
  }
}

}  // namespace weft
