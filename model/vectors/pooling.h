#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// How the hidden states of a sequence become one vector, as in sentence-transformers'
/// models/Pooling.py.
enum class PoolingKind : std::uint8_t {
  kCls,           ///< the first token's
  kMean,          ///< the mean of all tokens
  kLast,          ///< the last token's
  kMax,           ///< the greatest value of each number
  kMeanSqrt,      ///< the sum divided by the root of the number of tokens
  kWeightedMean,  ///< the mean, weighted with 1, 2, 3, ...
};

/// Pools the hidden states of one sequence into one vector. Tokens come in the order of their
/// positions, in one or several runs; position 0 restarts, as after an interruption. Sums are
/// computed in f64 and only in that order, so the vector does not depend on how the sequence was
/// cut. Allocates in the constructor only. Owner only.
class Pooled {
 public:
  /// `size` is the count of numbers of a hidden state; `tokens` is the length of the sequence, at
  /// least 1.
  Pooled(PoolingKind kind, std::size_t size, std::int32_t tokens);

  /// Returns the first position whose hidden state is wanted; the last is end() - 1.
  [[nodiscard]] std::int32_t first() const noexcept {
    return kind_ == PoolingKind::kLast ? tokens_ - 1 : 0;
  }
  [[nodiscard]] std::int32_t end() const noexcept {
    return kind_ == PoolingKind::kCls ? 1 : tokens_;
  }

  /// Adds a token's hidden state [size]. Skips an unwanted one.
  void add(std::int32_t position, std::span<const float> hidden) noexcept;

  /// Whether all wanted hidden states have been added.
  [[nodiscard]] bool complete() const noexcept { return next_ == end(); }
  /// Returns the vector of a sequence that is complete().
  [[nodiscard]] std::vector<float> vector() const;

 private:
  [[nodiscard]] double weight(std::int32_t position) const noexcept;
  [[nodiscard]] double divisor() const noexcept;

  PoolingKind kind_;
  std::int32_t tokens_;
  std::int32_t next_;
  std::vector<double> sums_;
};

}  // namespace weft
