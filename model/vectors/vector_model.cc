#include "weft/model/vectors/vector_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace weft {
namespace {

/// Partial sums of a product's sum, which the compiler computes in parallel.
constexpr std::size_t kPartialSums = 8;

double dot(std::span<const float> a, std::span<const float> b) {
  std::array<double, kPartialSums> sums{};
  std::size_t i = 0;
  for (; i + kPartialSums <= a.size(); i += kPartialSums) {
    for (std::size_t j = 0; j < kPartialSums; ++j) {
      sums[j] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
    }
  }
  double sum = 0;
  for (const double one : sums) sum += one;
  for (; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The activations that heads may have; the readers refuse others.
double activated(Activation activation, double x) {
  constexpr double kGeluCubic = 0.044715;
  switch (activation) {
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kGelu:
      return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + kGeluCubic * x * x * x)));
    default:
      return x;
  }
}

std::vector<float> dense(const VectorLayer& layer, std::span<const float> in) {
  std::vector<float> out(static_cast<std::size_t>(layer.outputs));
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = dot(std::span(layer.weight).subspan(i * in.size(), in.size()), in);
    if (!layer.bias.empty()) sum += static_cast<double>(layer.bias[i]);
    out[i] = static_cast<float>(activated(layer.activation, sum));
  }
  return out;
}

void layer_norm(const VectorLayer& layer, std::span<float> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const float value : values) mean += static_cast<double>(value);
  mean /= count;
  double variance = 0;
  for (const float value : values) variance += std::pow(static_cast<double>(value) - mean, 2);
  const double scale = 1 / std::sqrt(variance / count + static_cast<double>(layer.eps));
  for (std::size_t i = 0; i < values.size(); ++i) {
    double value = (static_cast<double>(values[i]) - mean) * scale;
    if (!layer.weight.empty()) value *= static_cast<double>(layer.weight[i]);
    if (!layer.bias.empty()) value += static_cast<double>(layer.bias[i]);
    values[i] = static_cast<float>(value);
  }
}

void softmax(std::span<float> scores) {
  const float most = std::ranges::max(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score - most));
  for (float& score : scores) {
    score = static_cast<float>(std::exp(static_cast<double>(score - most)) / sum);
  }
}

}  // namespace

void make_unit(std::span<float> vector) noexcept {
  const double length = std::sqrt(dot(vector, vector));
  if (length == 0) return;
  for (float& number : vector) number = static_cast<float>(static_cast<double>(number) / length);
}

std::int64_t VectorModel::size() const noexcept {
  std::int64_t size = hidden;
  for (const VectorLayer& layer : layers) {
    if (layer.kind == VectorLayer::Kind::kDense) size = layer.outputs;
  }
  return size;
}

bool VectorModel::gives_unit_vectors() const noexcept {
  return !layers.empty() && layers.back().kind == VectorLayer::Kind::kUnit;
}

std::vector<float> VectorModel::embedding(std::vector<float> pooled, bool unit,
                                          std::int32_t dimensions) const {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const VectorLayer& layer = layers[i];
    const bool last_unit = i + 1 == layers.size() && layer.kind == VectorLayer::Kind::kUnit;
    if (layer.kind == VectorLayer::Kind::kDense) pooled = dense(layer, pooled);
    if (layer.kind == VectorLayer::Kind::kLayerNorm) layer_norm(layer, pooled);
    if (layer.kind == VectorLayer::Kind::kUnit && !last_unit) make_unit(pooled);
  }
  if (dimensions > 0) {
    pooled.resize(std::min(pooled.size(), static_cast<std::size_t>(dimensions)));
  }
  if (unit) make_unit(pooled);
  return pooled;
}

std::vector<float> VectorModel::score(std::vector<float> pooled, bool raw) const {
  std::vector<float> all = embedding(std::move(pooled), false, 0);
  if (raw || activation == ScoreActivation::kNone) return all;
  if (activation == ScoreActivation::kSoftmax) {
    softmax(all);
  } else {
    for (float& score : all) score = static_cast<float>(sigmoid(static_cast<double>(score)));
  }
  return all;
}

}  // namespace weft
