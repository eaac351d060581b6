#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "weft/core/dtype.h"
#include "weft/kernels/linear/linear_cuda.h"

namespace weft::cuda {

/// What a way to multiply is chosen by. `tokens` stands for all numbers of tokens above the next
/// lower power of two.
struct LinearShape {
  DType dtype = DType::kBF16;
  std::int64_t rows = 0;    ///< of the weight, DeviceMatrix::rows()
  std::int64_t inputs = 0;  ///< K
  std::int64_t tokens = 1;  ///< M, a power of two in a table

  friend auto operator<=>(const LinearShape&, const LinearShape&) = default;
};

/// Which way is the fastest for which shape on one kind of GPU: the heuristic dataflow of
/// FlashDecoding++ (arXiv 2311.01282, section 5), as measured. A shape that was not measured takes
/// default_way(). As text, a line for each shape: dtype, rows, inputs, tokens, way.
///
///     bf16 12288 4096 16 flat
class CudaLinearTable {
 public:
  /// Takes one line of text. What is wrong with it, or nothing.
  [[nodiscard]] std::string_view read_line(std::string_view line);
  /// Its lines, in a fixed order.
  [[nodiscard]] std::string print() const;

  /// For all numbers of tokens of the bucket that `shape.tokens` falls into.
  void set(LinearShape shape, LinearWay way);

  /// The measured way, or the default one; whether it can() is the caller's to ask.
  [[nodiscard]] LinearWay choose(LinearShape shape) const;

  /// Plain arithmetic for f32 and q8_0. Of 16 bits kFlat as long as whole steps of Llama-2-7B were
  /// the faster by it on an H200 (bench/gpu/cuda/step_cuda_bench.cc), then kLibrary.
  [[nodiscard]] static LinearWay default_way(DType dtype, std::int64_t tokens) noexcept;
  static constexpr std::int64_t kDefaultFlatTokens = 32;

  /// The power of two at or above `tokens`.
  [[nodiscard]] static std::int64_t bucket_of(std::int64_t tokens) noexcept;

 private:
  std::map<LinearShape, LinearWay> ways_;
};

/// "vector", "flat", "library", ...: LinearWayRow::name.
[[nodiscard]] std::string_view to_string(LinearWay way) noexcept;

}  // namespace weft::cuda
