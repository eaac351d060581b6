#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/dtype.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.h"

namespace weft::cuda {

/// The shape of a product, by which a way is chosen. `tokens` stands for all numbers of tokens
/// above the next lower power of two.
struct LinearShape {
  DType dtype = DType::kBF16;
  std::int64_t rows = 0;    ///< rows of the weight, DeviceMatrix::rows()
  std::int64_t inputs = 0;  ///< K
  std::int64_t tokens = 1;  ///< M, a power of two in a table

  friend auto operator<=>(const LinearShape&, const LinearShape&) = default;
};

/// The fastest way for each shape on one kind of GPU, as measured: the heuristic dataflow of
/// FlashDecoding++ (arXiv 2311.01282, section 5). As text it has a line for each shape: dtype,
/// rows, inputs, tokens, way.
///
///     bf16 12288 4096 16 flat
///
/// A line `avoid flat` forbids a way for all products.
class CudaLinearTable {
 public:
  /// Reads one line of text. Returns an error message, or nothing.
  [[nodiscard]] std::string_view read_line(std::string_view line);
  /// Returns the table as lines, in a fixed order.
  [[nodiscard]] std::string print() const;

  /// Sets the way for all numbers of tokens in the bucket of `shape.tokens`.
  void set(LinearShape shape, LinearWay way);

  /// Returns the way that was measured to be the fastest, or nothing for a shape that was not
  /// measured. The caller asks whether the way can() do the product.
  [[nodiscard]] std::optional<LinearWay> measured(LinearShape shape) const;

  /// Returns whether a line forbids the way. kVector cannot be avoided: it computes what no other
  /// way can.
  [[nodiscard]] bool avoids(LinearWay way) const noexcept {
    return avoided_[static_cast<std::size_t>(way)];
  }

  /// Returns the way of a shape that was not measured: plain arithmetic for f32. 16-bit weights
  /// take kFlat up to as many tokens as it made whole steps of Llama-2-7B faster on an H200
  /// (bench/gpu/cuda/step_cuda_bench.cc), then kLibrary. Encoded weights take kVector, which
  /// decodes as it multiplies, up to as many tokens as it was faster on an H100
  /// (docs/log/2026-11.md), then kDecoded. Blocks cost more to decode than q8_0.
  [[nodiscard]] static LinearWay default_way(DType dtype, std::int64_t tokens) noexcept;
  static constexpr std::int64_t kDefaultFlatTokens = 32;
  /// Returns the way that replaces a default way on a GPU without it, or the way itself.
  [[nodiscard]] static constexpr LinearWay instead_of(LinearWay way) noexcept {
    return way == LinearWay::kFlat ? LinearWay::kFlatFetched : way;
  }
  static constexpr std::int64_t kVectorBlockTokens = 4;
  static constexpr std::int64_t kVectorQ8Tokens = 8;

  /// The power of two at or above `tokens`.
  [[nodiscard]] static std::int64_t bucket_of(std::int64_t tokens) noexcept;

 private:
  [[nodiscard]] std::string_view read_avoided(std::string_view line);

  std::map<LinearShape, LinearWay> ways_;
  std::array<bool, kLinearWays.size()> avoided_{};
};

/// Returns LinearWayRow::name: "vector", "flat", "library", ...
[[nodiscard]] std::string_view to_string(LinearWay way) noexcept;

}  // namespace weft::cuda
