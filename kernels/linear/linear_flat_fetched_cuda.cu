#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_fetch_cuda.cuh"

/// The flat product of FlashDecoding++ (arXiv 2311.01282, section 4) for GPUs other than sm_90.
/// Tokens are padded to 8 only, because they are the n side of the tensor cores' products. A ring
/// of at least two units hides the memory's latency.
namespace weft::cuda {
namespace codes {
namespace {

/// Implements the interface of an encoding for weights of 16 bits.
template <class Number>
struct Numbers {
  static constexpr int kColumns = 64;
  static constexpr int kRowBytes = kColumns * 2;
  static constexpr bool kBoxed = false;
  static constexpr int kGateDistance = kGateBlock;
  static constexpr int kSharedBytes = kMostFetchedBytes;
  static constexpr bool kSwapsTokens = false;
  static constexpr TokenForm kFewTokens = TokenForm::kNumbers;

  /// The lanes of two rows read from different banks.
  static constexpr int place_of(int row, int piece) { return piece ^ (row & 1) << 2; }

  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs,
                             std::byte* /*scales*/, const Lane& at, Sums<Sizes>& sums) {
    const int piece = at.half * 4 + at.place;
    uint4 rows[4];  // eight columns of the lane's rows
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = at.first_row + at.quad + 8 * i;
      rows[i] =
          *reinterpret_cast<const uint4*>(weights + row * kRowBytes + place_of(row, piece) * 16);
    }
    const std::byte* from = inputs + at.input<Sizes>(piece * 8);
#pragma unroll
    for (int t = 0; t < Sizes::kTokens / 8; ++t) {
      const uint4 x = *reinterpret_cast<const uint4*>(from + t * 8 * Sizes::kBoxBytes);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const uint4& upper = rows[2 * m];
        const uint4& lower = rows[2 * m + 1];
        multiply_add<Number>(sums[m][t], {upper.x, lower.x, upper.y, lower.y}, x.x, x.y);
        multiply_add<Number>(sums[m][t], {upper.z, lower.z, upper.w, lower.w}, x.z, x.w);
      }
    }
  }
};

static_assert(kMaxFlatFetchedTokens <= 32 &&
                  FetchedRing<Layout<Fetched<Numbers<__nv_bfloat16>>, 32>>(
                      {kLeastBlockBytes, kLeastBlockBytes + kReservedBytes})
                      .fits(),
              "products with norms are one launch: start_all_fetched() does not cut norms");

}  // namespace
}  // namespace codes

Status prepare_flat_fetched(const FlatDevice& device) {
  const Status status = codes::prepare_fetched<codes::Numbers<__nv_bfloat16>>(device.shared);
  return status == Status::kSuccess ? codes::prepare_fetched<codes::Numbers<__half>>(device.shared)
                                    : status;
}

Status linear_flat_fetched(const CudaLinearParams& params, const FlatDevice& device,
                           Stream stream) {
  return params.weight.dtype == DType::kF16
             ? codes::run_fetched<codes::Numbers<__half>>(params, device, stream)
             : codes::run_fetched<codes::Numbers<__nv_bfloat16>>(params, device, stream);
}

}  // namespace weft::cuda
