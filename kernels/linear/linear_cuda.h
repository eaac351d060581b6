#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/linear/linear_spec.h"

namespace weft::cuda {

/// Outputs of a gated matrix alternate in blocks of so many rows, gate first: the accumulators of a
/// tensor core's tile hold rows r and r + 8 in one thread, so that no shuffle is needed for
/// act(gate) * up.
inline constexpr std::int64_t kGateBlock = 8;

/// Outputs of a matrix from `first` on that are held as blocks of one encoding, row by row, as they
/// stand in a file, or in boxes (code_boxes.h). Of a gated matrix the gates are outputs 0 .. N-1
/// and the ups N .. 2N-1.
struct EncodedRun {
  const std::byte* data = nullptr;  ///< aligned to 256 bytes
  DType dtype = DType::kQ4_0;
  std::int32_t first = 0;
  std::int32_t block_elements = 1;  ///< of block_of(dtype), or columns of box_of(dtype)
  std::int32_t block_bytes = 1;     ///< of a block or box
  bool boxed = false;               ///< of a gated matrix gates fill boxes, and ups
};

/// W [rows, K] in a device's memory, row-major. `rows` is N, or of a gated one 2 * N rounded up to
/// whole pairs of blocks: gate row n at n / 8 * 16 + n % 8, up row n 8 further; rows that belong to
/// no output are zeros. Columns K .. stride - 1 are zeros as well.
struct DeviceMatrix {
  const std::byte* data = nullptr;    ///< aligned to 256 bytes
  const std::byte* scales = nullptr;  ///< q8_0 without runs: f16 [rows, K / 32]; `data` is int8
  DType dtype = DType::kBF16;         ///< f32, f16, bf16, q8_0; with runs that of the first
  std::int64_t outputs = 0;           ///< N
  std::int64_t inputs = 0;            ///< K
  std::int64_t stride = 0;            ///< elements from row to row, K rounded up to 64
  bool gated = false;
  /// What is encoded is held in runs, which follow one another, instead of `data`.
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

/// Ways to multiply, each a row of kLinearWays (linear_ways_cuda.h). FlashDecoding++ (arXiv
/// 2311.01282, section 5) chooses by the shape; so do we, see CudaLinearTable.
enum class LinearWay : std::uint8_t {
  /// One warp for a few outputs, plain arithmetic; any dtype, any processor. A row's bits do not
  /// depend on M. Of blocks it decodes what it multiplies.
  kVector,
  /// Few tokens, tensor cores, weights at the memory's speed; 16-bit weights, sm_90a. A row's bits
  /// do not depend on M.
  kFlat,
  /// cuBLASLt, then a kernel for what it cannot do after the product; 16-bit weights.
  kLibrary,
  /// Tensor cores that multiply the codes of blocks, which stream; sm_90a. A row's
  /// bits depend on the range of M alone, and ranges end at 8, 16 and 128 rows. Weights are exact
  /// for up to 8 rows, which may
  /// become numbers of f16 over a power of two (encoding/README.md). For up to 16 rows
  /// some encodings' weights are rounded to bf16. For more rows the weights of all encodings are
  /// rounded.
  kCodes,
  /// kLibrary's product by a matrix that is decoded to bf16 first, in pieces that fit
  /// CudaLinearParams::decoded; encoded weights.
  kDecoded,
  /// Tensor cores that multiply codes of FP8 by rows which are rounded to FP8 as well, each 128
  /// columns of a row under a scale; sm_90a. A row's bits depend on the range of M alone, and
  /// ranges end at 128 rows and at kMaxRoundedTokens.
  kRounded,
  /// As kFlat, by `mma.sync` and for any GPU: threads fetch weights themselves. A row's bits depend
  /// on the range of M alone; ranges end at 8, 16 and 32 rows.
  kFlatFetched,
  /// As kCodes, by `mma.sync` and for any GPU: threads fetch codes themselves. A row's bits depend
  /// on the range of M alone; ranges end at 8, 16 and 64 rows. Weights are rounded as by kCodes for
  /// up to 16 rows.
  kCodesFetched,
  /// The products of experts, expert_linear() (experts.h): plain arithmetic; any dtype, any GPU.
  kExperts,
};

/// An RMS norm without a bias that the products around it compute, so that it needs no launch. The
/// product before it writes its outputs times the norm's weights, and adds up the outputs' squares;
/// the product behind it multiplies the sums of each row by the row's root. Both are by ways
/// whose LinearWayRow::epilogue has these steps. Squares are [M, N / kSquaredOutputs], K being the
/// N before.
inline constexpr std::int64_t kSquaredOutputs = 32;
struct NormAfter {
  DeviceRows out{};               ///< bf16; data null when no norm follows
  const float* weight = nullptr;  ///< [N], or null
  float weight_offset = 0;        ///< is added to the weights; 0 without weights
  float* squares = nullptr;
};
struct NormBefore {
  const float* squares = nullptr;  ///< null when no norm comes before
  float eps = 0;
};

/// What adapters add to a product's sums before all that follows the product, if the product's own
/// launch computes it: adapter_shrink() for all products of its input, and adapter_expand() for
/// this one. A is multiplied with CudaLinearParams::in. Where a norm comes before, that is the
/// input before the row's root, by which what is added is multiplied as the product's own sums are.
/// The total of A x is rounded to 16 bits.
struct ProductAdapters {
  CudaAdapterTasks tasks{};  ///< `tasks` is null when the product has no adapters
  CudaAdapterPlaces places{};
  AdapterRun runs[kMaxCudaAdapterRuns] = {};  ///< all of the product; they begin_evenly()
  std::int32_t run_count = 0;
  std::int32_t first_site = 0;  ///< as in CudaAdapterShrinkParams
  std::int32_t sites = 0;
  std::int32_t rank = 0;
  float* sums = nullptr;        ///< [product_adapter_slices(K), M, sites * R]
  unsigned* meeting = nullptr;  ///< a number for all calls, zero before the first one
};

/// A product's launch computes A x in so many slices of its inputs.
inline constexpr std::int32_t kMaxProductAdapterSlices = 64;
[[nodiscard]] constexpr std::int32_t product_adapter_slices(std::int64_t inputs) noexcept {
  constexpr std::int64_t kSliceInputs = 256;
  const std::int64_t slices = (inputs + kSliceInputs - 1) / kSliceInputs;
  return static_cast<std::int32_t>(slices < kMaxProductAdapterSlices ? slices
                                                                     : kMaxProductAdapterSlices);
}

/// Whether 64 outputs, of which a product's launch computes all that an adapter adds at once, are
/// of one run.
[[nodiscard]] constexpr bool begin_evenly(const AdapterRun* runs, std::int32_t count) noexcept {
  constexpr std::int64_t kTogether = 64;
  for (std::int32_t i = 0; i < count; ++i) {
    if (runs[i].first_output % kTogether != 0) return false;
  }
  return count > 0;
}

/// The product and what follows it are those of weft::LinearParams. Sums are in float32. `in` has
/// the way's input_type().
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
  /// kFlat, kCodes, kFlatFetched, kCodesFetched: partial sums and counters,
  /// cuda_linear_workspace_bytes() of them. Its first kLinearCounterBytes are zero before the first
  /// call and are left so.
  std::byte* workspace = nullptr;
  std::byte* decoded = nullptr;  ///< kDecoded: decoded_piece() of the weight, bf16
};

/// Counters of tiles whose parts meet in the workspace, and behind them the parts that need no
/// counter: of 256 multiprocessors (no GPU has more) 128 outputs of 16 tokens in kFlat, or in each
/// of two blocks in kCodes.
inline constexpr std::size_t kTileCounterBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kLinearCounterBytes = kTileCounterBytes + (std::size_t{4} << 20U);

/// Decodes an encoded matrix (blocks or q8_0) into one of 16-bit numbers for products that follow
/// in the stream: outputs [first, first + to.outputs) of `from`, of a gated one all. Those products
/// must not begin to read weights before this has ended, as kVector and kFlat may: kLibrary alone.
struct CudaDecodeParams {
  DeviceMatrix from{};
  std::int64_t first = 0;
  DeviceMatrix to{};  ///< bf16
};
[[nodiscard]] Status decode_matrix(const CudaDecodeParams& params, Stream stream);

/// The steps of a product's epilogue that not every way has to have. Biases and LinearSpec::scale
/// are for all.
struct EpilogueSteps {
  bool activation = false;
  bool gate = false;  ///< act(gate) * up, of a gated matrix; who asks leaves it to the matrix
  bool soft_cap = false;
  bool residual = false;
  bool norm_before = false;  ///< NormBefore
  bool norm_after = false;   ///< NormAfter
  bool adapters = false;     ///< ProductAdapters

  [[nodiscard]] constexpr bool has_norm() const noexcept { return norm_before || norm_after; }
  /// Whether all steps of `others` are among these.
  [[nodiscard]] constexpr bool have(const EpilogueSteps& others) const noexcept {
    return (activation || !others.activation) && (gate || !others.gate) &&
           (soft_cap || !others.soft_cap) && (residual || !others.residual) &&
           (norm_before || !others.norm_before) && (norm_after || !others.norm_after) &&
           (adapters || !others.adapters);
  }
};

/// Returns the steps of a product by itself, without norms beside it.
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

/// Whether GPUs of an architecture (90 of sm_90) have kCodes or kCodesFetched.
[[nodiscard]] bool multiplies_codes(std::int32_t architecture);

/// Returns whether `way`, one of LinearEngine's, can compute this product on the current device:
/// takes() (linear_ways_cuda.h), and the matrix is not too large for its kernels.
[[nodiscard]] bool can(LinearWay way, const DeviceMatrix& weight, std::int64_t tokens,
                       const EpilogueSteps& steps = {});
inline constexpr std::int64_t kMaxFlatTokens = 128;
inline constexpr std::int64_t kMaxCodesTokens = 4096;
/// Up to so many tokens kCodes multiplies with `mma.sync`; beyond, with `wgmma`.
inline constexpr std::int64_t kMaxStreamedTokens = 16;
inline constexpr std::int64_t kMaxRoundedTokens = 4096;
inline constexpr std::int64_t kMaxFlatFetchedTokens = 32;
/// For more tokens kCodesFetched reads weights once for each 32.
inline constexpr std::int64_t kMaxFetchedTokens = 64;
/// Up to so many tokens kCodesFetched computes norms around its products.
inline constexpr std::int64_t kMaxNormedFetchedTokens = 16;
/// Up to so many tokens kCodes computes norms around its products.
inline constexpr std::int64_t kMaxNormedCodesTokens = 32;

/// Up to so many tokens kFlat computes what adapters add.
inline constexpr std::int64_t kMaxAdaptedTokens = 32;
/// Up to so many tokens that is faster than launches of their own (docs/log/2026-11.md): of more
/// tokens with several adapters, warps beside a product take longer than the product.
inline constexpr std::int64_t kBestAdaptedTokens = 1;

/// Bytes that a device of so many multiprocessors needs of workspace, for all its calls, one after
/// the other.
[[nodiscard]] constexpr std::size_t cuda_linear_workspace_bytes(std::int32_t processors,
                                                                std::int64_t max_tokens) noexcept {
  // A block leaves sums of at most its first tile, of 128 outputs, to another block. kFlat runs one
  // block on a multiprocessor, kCodes runs two for up to 16 tokens.
  constexpr std::int64_t kTileRows = 128;
  std::int64_t padded = 2 * kGateBlock;
  while (padded < kMaxFlatTokens && padded < max_tokens) padded *= 2;
  const std::int64_t sums = padded > 2 * kGateBlock ? padded : 2 * padded;
  return kLinearCounterBytes +
         static_cast<std::size_t>(processors * kTileRows * sums) * sizeof(float);
}

/// Bytes of the device's memory that one LinearEngine takes.
inline constexpr std::size_t kLinearEngineBytes = std::size_t{128} << 20U;

/// Holds what cuBLASLt needs and kLinearEngineBytes; one for each device, made on its thread, all
/// its calls in one stream. Not thread-safe. What goes wrong while it is made, run() returns.
class LinearEngine {
 public:
  LinearEngine();
  ~LinearEngine();
  LinearEngine(const LinearEngine&) = delete;
  LinearEngine& operator=(const LinearEngine&) = delete;

  /// Can be captured. Nothing of the device is allocated; the first product of a size asks cuBLASLt
  /// for its heuristics. Parameters that do not fit: cudaErrorInvalidValue.
  [[nodiscard]] Status run(const CudaLinearParams& params, Stream stream);

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace weft::cuda
