#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/kernels/activation.h"
#include "weft/model/vectors/pooling.h"

namespace weft {

/// A step that is applied to a vector after pooling.
struct VectorLayer {
  enum class Kind : std::uint8_t {
    kDense,      ///< activation(weight * x + bias)
    kLayerNorm,  ///< (x - mean) / sqrt(variance + eps) * weight + bias
    kUnit,       ///< x / |x|
  };
  Kind kind = Kind::kUnit;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::vector<float> weight{};  ///< [outputs, inputs]; for a norm [inputs]
  std::vector<float> bias{};    ///< [outputs]; empty: none
  Activation activation = Activation::kNone;
  float eps = 0;
};

/// The function that is applied to scores before they are returned.
enum class ScoreActivation : std::uint8_t {
  kNone,
  kSigmoid,  ///< each score alone
  kSoftmax,
};

/// How a model's hidden states become vectors or scores: pooling, and the layers after it. They are
/// computed on the host, for each sequence alone and with sums in one order, so a vector does not
/// depend on other sequences. Immutable, shared.
struct VectorModel {
  bool scores = false;  ///< true: gives scores of labels; false: embeddings
  PoolingKind pooling = PoolingKind::kMean;
  std::int64_t hidden = 0;  ///< numbers of a hidden state
  std::vector<VectorLayer> layers{};
  /// Most tokens of an input, by the model's files; 0: they do not say.
  std::int64_t max_tokens = 0;
  std::vector<std::string> labels{};  ///< one label for each score
  ScoreActivation activation = ScoreActivation::kNone;
  /// The prompts that sentence-transformers puts in front of a text, by their purpose ("query",
  /// "document", ...); may be empty.
  std::vector<std::pair<std::string, std::string>> prompts{};

  /// Returns the count of numbers of the result.
  [[nodiscard]] std::int64_t size() const noexcept;
  /// Whether embeddings have length 1 by default.
  [[nodiscard]] bool gives_unit_vectors() const noexcept;

  /// Returns the embedding of a pooled vector. `dimensions` is how many of its numbers to keep,
  /// from the first on (Matryoshka representation learning, arXiv 2205.13147); 0: all. `unit`:
  /// whether the kept numbers are scaled to length 1.
  [[nodiscard]] std::vector<float> embedding(std::vector<float> pooled, bool unit,
                                             std::int32_t dimensions) const;
  /// Returns the scores of a pooled vector; `raw`: without `activation`.
  [[nodiscard]] std::vector<float> score(std::vector<float> pooled, bool raw) const;
};

/// Scales x to x / |x|; a vector of zeros stays zero.
void make_unit(std::span<float> vector) noexcept;

}  // namespace weft
