#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/linear/linear_spec.h"

namespace weft::cuda {

/// Outputs of a gated matrix alternate in blocks of this many rows, gates first. In a tensor core's
/// tile one thread's accumulators hold rows r and r + 8, so act(gate) * up needs no shuffle.
inline constexpr std::int64_t kGateBlock = 8;

/// Outputs of a matrix from `first` on that are held as blocks of one encoding, row by row: as in a
/// file, or in boxes (code_boxes.h). In a gated matrix the gates are outputs 0 .. N-1 and the ups N
/// .. 2N-1.
struct EncodedRun {
  const std::byte* data = nullptr;  ///< aligned to 256 bytes
  DType dtype = DType::kQ4_0;
  std::int32_t first = 0;
  std::int32_t block_elements = 1;  ///< elements of block_of(dtype), or columns of box_of(dtype)
  std::int32_t block_bytes = 1;     ///< bytes of a block or box
  bool boxed = false;               ///< in a gated matrix gates and ups each fill whole boxes
};

/// W [rows, K] in a device's memory, row-major. `rows` is N. In a gated matrix it is 2 * N rounded
/// up to whole pairs of blocks: gate n is row n / 8 * 16 + n % 8, and its up is 8 rows further.
/// Rows without an output are zeros. Columns K .. stride - 1 are zeros as well.
struct DeviceMatrix {
  const std::byte* data = nullptr;    ///< aligned to 256 bytes
  const std::byte* scales = nullptr;  ///< q8_0 without runs: f16 [rows, K / 32]; `data` is int8
  DType dtype = DType::kBF16;         ///< f32, f16, bf16, q8_0; with runs the first run's type
  std::int64_t outputs = 0;           ///< N
  std::int64_t inputs = 0;            ///< K
  std::int64_t stride = 0;            ///< elements from row to row, K rounded up to 64
  bool gated = false;
  /// An encoded matrix is held in runs, one after the other, instead of `data`.
  static constexpr int kMaxRuns = 3;
  EncodedRun runs[kMaxRuns] = {};
  std::int32_t run_count = 0;

  [[nodiscard]] constexpr bool keeps_blocks() const noexcept { return run_count > 0; }
  [[nodiscard]] constexpr bool encoded() const noexcept {
    return keeps_blocks() || dtype == DType::kQ8_0;
  }

  [[nodiscard]] std::int64_t rows() const noexcept {
    return gated ? (outputs + kGateBlock - 1) / kGateBlock * 2 * kGateBlock : outputs;
  }
};

/// Ways to multiply, each a row of kLinearWays (linear_ways_cuda.h). As in FlashDecoding++ (arXiv
/// 2311.01282, section 5), the shape decides; see CudaLinearTable.
enum class LinearWay : std::uint8_t {
  /// One warp for a few outputs, plain arithmetic; any dtype, any processor. A row's bits do not
  /// depend on M. It decodes blocks as it multiplies.
  kVector,
  /// Few tokens, tensor cores, weights at the memory's speed; 16-bit weights, sm_90a. A row's bits
  /// do not depend on M.
  kFlat,
  /// cuBLASLt, then a kernel for the steps of the epilogue that cuBLASLt lacks; 16-bit weights.
  kLibrary,
  /// Tensor cores that multiply the codes of blocks, which stream; sm_90a. A row's bits depend on
  /// the range of M alone, and ranges end at 8, 16 and 128 rows. Up to 8 rows the weights are
  /// exact; the rows may be converted to f16 over a power of two (encoding/README.md). Up to 16
  /// rows some encodings' weights are rounded to bf16. With more rows all encodings' weights are
  /// rounded.
  kCodes,
  /// Decodes a matrix to bf16, in pieces that fit CudaLinearParams::decoded, and multiplies it as
  /// kLibrary does; encoded weights.
  kDecoded,
  /// Tensor cores that multiply codes of FP8 by rows that are rounded to FP8 too, with a scale for
  /// each 128 columns of a row; sm_90a. A row's bits depend on the range of M alone; ranges end at
  /// 128 rows and at kMaxRoundedTokens.
  kRounded,
  /// As kFlat, but with `mma.sync` and for any GPU: threads fetch the weights. A row's bits depend
  /// on the range of M alone; ranges end at 8, 16 and 32 rows.
  kFlatFetched,
  /// As kCodes, but with `mma.sync` and for any GPU: threads fetch the codes. A row's bits depend
  /// on the range of M alone; ranges end at 8, 16 and 64 rows. Weights are rounded as by kCodes
  /// with up to 16 rows.
  kCodesFetched,
  /// The products of experts, expert_linear() (experts.h): plain arithmetic; any dtype, any GPU.
  kExperts,
};

/// Outputs whose squares are added up to one number of NormAfter::squares.
/// An RMS norm without a bias needs no launch if the products around it compute it. The product
/// before the norm writes its outputs times the norm's weights and adds up the outputs' squares.
/// The product after the norm multiplies each row's sums by the row's root. Both products need ways
/// whose LinearWayRow::epilogue has these steps. Squares are [M, N / kSquaredOutputs], where N of
/// the product before is K of the product after.
inline constexpr std::int64_t kSquaredOutputs = 32;
struct NormAfter {
  DeviceRows out{};               ///< bf16; data null: no norm follows
  const float* weight = nullptr;  ///< [N], or null
  float weight_offset = 0;        ///< is added to the weights; 0 without weights
  float* squares = nullptr;
};
struct NormBefore {
  const float* squares = nullptr;  ///< null: no norm comes before
  float eps = 0;
};

/// Adapters of a product whose own launch computes their part, which is added to the sums before
/// the epilogue: adapter_shrink() for all products of the input, and adapter_expand() for this
/// product. CudaLinearParams::in multiplies A. After a norm, `in` is not yet multiplied by the
/// row's root. The root then multiplies the adapters' part together with the product's sums. The
/// total of A x is rounded to 16 bits.
struct ProductAdapters {
  CudaAdapterTasks tasks{};  ///< `tasks` is null: no adapters
  CudaAdapterPlaces places{};
  AdapterRun runs[kMaxCudaAdapterRuns] = {};  ///< all of the product's runs; they begin_evenly()
  std::int32_t run_count = 0;
  std::int32_t first_site = 0;  ///< as in CudaAdapterShrinkParams
  std::int32_t sites = 0;
  std::int32_t rank = 0;
  float* sums = nullptr;        ///< [product_adapter_slices(K), M, sites * R]
  unsigned* meeting = nullptr;  ///< one counter for all calls, zero before the first call
};

/// The most slices of the inputs in which a product's launch computes A x.
inline constexpr std::int32_t kMaxProductAdapterSlices = 64;
[[nodiscard]] constexpr std::int32_t product_adapter_slices(std::int64_t inputs) noexcept {
  constexpr std::int64_t kSliceInputs = 256;
  const std::int64_t slices = (inputs + kSliceInputs - 1) / kSliceInputs;
  return static_cast<std::int32_t>(slices < kMaxProductAdapterSlices ? slices
                                                                     : kMaxProductAdapterSlices);
}

/// Returns whether each 64 outputs belong to one run. A product's launch computes the adapters'
/// part of 64 outputs at once.
[[nodiscard]] constexpr bool begin_evenly(const AdapterRun* runs, std::int32_t count) noexcept {
  constexpr std::int64_t kTogether = 64;
  for (std::int32_t i = 0; i < count; ++i) {
    if (runs[i].first_output % kTogether != 0) return false;
  }
  return count > 0;
}

/// Product and epilogue are as in weft::LinearParams. Sums are in float32. `in` has the way's
/// input_type().
struct CudaLinearParams {
  std::int64_t rows = 0;  ///< M
  DeviceRows in{};
  DeviceMatrix weight{};
  const float* bias = nullptr;  ///< [N], gated [2N] (gate, then up), or null
  LinearSpec spec{};
  DeviceRows residual{};  ///< f32; data null when there is none; may be `out`
  DeviceRows out{};       ///< f32, f16 or bf16
  NormBefore norm_before{};
  NormAfter norm_after{};
  ProductAdapters adapters{};
  /// [M] or null: out row i is made from in row input_rows[i].
  const std::int32_t* input_rows = nullptr;
  LinearWay way = LinearWay::kVector;
  /// kFlat, kCodes, kFlatFetched and kCodesFetched use it: cuda_linear_workspace_bytes() for
  /// partial sums and counters. Its first kLinearCounterBytes are zero before the first call and
  /// after each call.
  std::byte* workspace = nullptr;
  std::byte* decoded = nullptr;  ///< kDecoded: decoded_piece() of the weight, bf16
};

/// Bytes of the counters of tiles whose parts meet in the workspace. After them come parts that
/// need no counter: for 256 multiprocessors (no GPU has more) 128 outputs of 16 tokens in kFlat, or
/// in each of two blocks in kCodes.
inline constexpr std::size_t kTileCounterBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kLinearCounterBytes = kTileCounterBytes + (std::size_t{4} << 20U);

/// Decodes an encoded matrix (blocks or q8_0) to 16-bit numbers, for products that follow in the
/// stream. It decodes outputs [first, first + to.outputs) of `from`; a gated matrix is decoded
/// whole. These products must not read weights before the decoding has ended. kVector and kFlat
/// may, so only kLibrary may follow.
struct CudaDecodeParams {
  DeviceMatrix from{};
  std::int64_t first = 0;
  DeviceMatrix to{};  ///< bf16
};
[[nodiscard]] Status decode_matrix(const CudaDecodeParams& params, Stream stream);

/// The steps of an epilogue that a way may lack. Every way has biases and LinearSpec::scale.
struct EpilogueSteps {
  bool activation = false;
  /// Act(gate) * up of a gated matrix; callers leave it false, since the matrix decides.
  bool gate = false;
  bool soft_cap = false;
  bool residual = false;
  bool norm_before = false;  ///< NormBefore
  bool norm_after = false;   ///< NormAfter
  bool adapters = false;     ///< ProductAdapters

  [[nodiscard]] constexpr bool has_norm() const noexcept { return norm_before || norm_after; }
  /// Returns whether these steps include all steps of `others`.
  [[nodiscard]] constexpr bool have(const EpilogueSteps& others) const noexcept {
    return (activation || !others.activation) && (gate || !others.gate) &&
           (soft_cap || !others.soft_cap) && (residual || !others.residual) &&
           (norm_before || !others.norm_before) && (norm_after || !others.norm_after) &&
           (adapters || !others.adapters);
  }
};

/// Returns the steps of a product alone, without norms around it.
[[nodiscard]] constexpr EpilogueSteps steps_of(const LinearSpec& spec, bool has_residual) noexcept {
  EpilogueSteps steps;
  steps.activation = spec.activation != Activation::kNone;
  steps.soft_cap = spec.soft_cap > 0;
  steps.residual = has_residual;
  return steps;
}
[[nodiscard]] constexpr EpilogueSteps steps_of(const CudaLinearParams& params) noexcept {
  EpilogueSteps steps = steps_of(params.spec, params.residual.data != nullptr);
  steps.norm_before = params.norm_before.squares != nullptr;
  steps.norm_after = params.norm_after.out.data != nullptr;
  steps.adapters = params.adapters.tasks.tasks != nullptr;
  return steps;
}

/// Whether GPUs of an architecture (90 for sm_90) have kCodes or kCodesFetched.
[[nodiscard]] bool multiplies_codes(std::int32_t architecture);

/// Returns whether `way`, one of LinearEngine's, can compute this product on the current device:
/// takes() (linear_ways_cuda.h) holds, and the matrix is not too large for the way's kernels.
[[nodiscard]] bool can(LinearWay way, const DeviceMatrix& weight, std::int64_t tokens,
                       const EpilogueSteps& steps = {});
inline constexpr std::int64_t kMaxFlatTokens = 128;
inline constexpr std::int64_t kMaxCodesTokens = 4096;
/// The most tokens that kCodes multiplies with `mma.sync`; more tokens use `wgmma`.
inline constexpr std::int64_t kMaxStreamedTokens = 16;
inline constexpr std::int64_t kMaxRoundedTokens = 4096;
inline constexpr std::int64_t kMaxFlatFetchedTokens = 32;
/// The most tokens of kCodesFetched. It reads the weights once for each 32 tokens.
inline constexpr std::int64_t kMaxFetchedTokens = 64;
/// The most tokens for which kCodesFetched computes norms around its products.
inline constexpr std::int64_t kMaxNormedFetchedTokens = 16;
/// The most tokens for which kCodes computes norms around its products.
inline constexpr std::int64_t kMaxNormedCodesTokens = 32;

/// The most tokens for which kFlat computes the adapters' part.
inline constexpr std::int64_t kMaxAdaptedTokens = 32;
/// The most tokens for which that is faster than separate launches (docs/log/2026-11.md). With more
/// tokens and several adapters, the adapters' warps take longer than the product.
inline constexpr std::int64_t kBestAdaptedTokens = 1;

/// Bytes of workspace that a device with this many multiprocessors needs. All calls, one after the
/// other, use the same workspace.
[[nodiscard]] constexpr std::size_t cuda_linear_workspace_bytes(std::int32_t processors,
                                                                std::int64_t max_tokens) noexcept {
  // A block leaves at most the sums of its first tile, 128 outputs, to another block. kFlat runs
  // one block on a multiprocessor; kCodes runs two with up to 16 tokens.
  constexpr std::int64_t kTileRows = 128;
  std::int64_t padded = 2 * kGateBlock;
  while (padded < kMaxFlatTokens && padded < max_tokens) padded *= 2;
  const std::int64_t sums = padded > 2 * kGateBlock ? padded : 2 * padded;
  return kLinearCounterBytes +
         static_cast<std::size_t>(processors * kTileRows * sums) * sizeof(float);
}

/// Bytes of the device's memory that one LinearEngine takes.
inline constexpr std::size_t kLinearEngineBytes = std::size_t{128} << 20U;

/// Holds cuBLASLt's state and kLinearEngineBytes. Each device has one, constructed on the device's
/// thread, and all calls are in one stream. Not thread-safe. run() returns errors of the
/// construction.
class LinearEngine {
 public:
  LinearEngine();
  ~LinearEngine();
  LinearEngine(const LinearEngine&) = delete;
  LinearEngine& operator=(const LinearEngine&) = delete;

  /// A stream capture may contain it. It allocates no device memory; the first product of a size
  /// asks cuBLASLt for its heuristics. Invalid parameters: cudaErrorInvalidValue.
  [[nodiscard]] Status run(const CudaLinearParams& params, Stream stream);

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace weft::cuda
