#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "weft/core/encodings.h"
#include "weft/kernels/linear/linear_cuda.h"

/// The ways to multiply on a GPU, as rows of one table. Code that launches products, lays out
/// weights, chooses the types of buffers, loads or tunes reads these rows. WayKernels
/// (linear_ways_cuda.cuh) are the kernels of each row. Nothing here needs CUDA.
namespace weft::cuda {

/// Which products a way computes.
enum class ProductKind : std::uint8_t {
  kMatrix,   ///< a row times one matrix: LinearEngine; weft tune measures these ways
  kExperts,  ///< a row times the matrices of its experts: expert_linear()
};

/// How a matrix must lie in memory for a way.
enum class WeightForm : std::uint8_t {
  kAny,          ///< numbers in rows, or blocks as in a file
  kNumbers,      ///< numbers of 16 bits in rows
  kEncoded,      ///< blocks, boxes, or q8_0 in rows
  kTensorCodes,  ///< each encoding as its row's TensorCodes say
  kFloatBoxes,   ///< boxes of one encoding of FP8
};

/// The steps of ways without norms, and the steps of ways with norms.
inline constexpr EpilogueSteps kUsualSteps{
    .activation = true, .gate = true, .soft_cap = true, .residual = true};
inline constexpr EpilogueSteps kStepsWithNorms = [] {
  EpilogueSteps steps = kUsualSteps;
  steps.norm_before = steps.norm_after = true;
  return steps;
}();
/// The steps of ways that also compute adapters, with up to kMaxAdaptedTokens rows.
inline constexpr EpilogueSteps kStepsWithAdapters = [] {
  EpilogueSteps steps = kStepsWithNorms;
  steps.adapters = true;
  return steps;
}();

struct LinearWayRow {
  LinearWay way = LinearWay::kVector;
  std::string_view name;  ///< the name in a tuning table
  ProductKind product = ProductKind::kMatrix;
  WeightForm form = WeightForm::kAny;
  EpilogueSteps epilogue = kUsualSteps;
  std::int64_t most_rows = INT64_MAX;  ///< M
  std::int64_t most_normed_rows = 0;   ///< M with NormBefore or NormAfter
  /// The most rows M for which computing the norm with the product costs less than a separate
  /// launch (docs/log/2026-11.md). With more rows their squares slow the product down.
  std::int64_t best_normed_rows = 0;
  bool needs_sm90a = false;
  bool needs_workspace = false;   ///< CudaLinearParams::workspace
  bool needs_decoded = false;     ///< CudaLinearParams::decoded
  bool reads_input_rows = false;  ///< takes input_rows; else LinearEngine gathers the rows
  /// Rounds rows more than other ways: a setting chooses this way, never a tuning table.
  bool rounds_rows = false;
};

inline constexpr std::array kLinearWays = {
    LinearWayRow{.way = LinearWay::kVector, .name = "vector", .reads_input_rows = true},
    LinearWayRow{.way = LinearWay::kFlat,
                 .name = "flat",
                 .form = WeightForm::kNumbers,
                 .epilogue = kStepsWithAdapters,
                 .most_rows = kMaxFlatTokens,
                 .most_normed_rows = kMaxFlatTokens,
                 .best_normed_rows = 16,
                 .needs_sm90a = true,
                 .needs_workspace = true},
    LinearWayRow{.way = LinearWay::kLibrary, .name = "library", .form = WeightForm::kNumbers},
    LinearWayRow{.way = LinearWay::kCodes,
                 .name = "codes",
                 .form = WeightForm::kTensorCodes,
                 .epilogue = kStepsWithNorms,
                 .most_rows = kMaxCodesTokens,
                 .most_normed_rows = kMaxNormedCodesTokens,
                 .best_normed_rows = 16,
                 .needs_sm90a = true,
                 .needs_workspace = true},
    LinearWayRow{.way = LinearWay::kDecoded,
                 .name = "decoded",
                 .form = WeightForm::kEncoded,
                 .needs_decoded = true},
    LinearWayRow{.way = LinearWay::kRounded,
                 .name = "rounded",
                 .form = WeightForm::kFloatBoxes,
                 .most_rows = kMaxRoundedTokens,
                 .needs_sm90a = true,
                 .needs_workspace = true,
                 .reads_input_rows = true,
                 .rounds_rows = true},
    LinearWayRow{.way = LinearWay::kFlatFetched,
                 .name = "flat_fetched",
                 .form = WeightForm::kNumbers,
                 .epilogue = kStepsWithNorms,
                 .most_rows = kMaxFlatFetchedTokens,
                 .most_normed_rows = kMaxFlatFetchedTokens,
                 .best_normed_rows = 16,
                 .needs_workspace = true},
    LinearWayRow{.way = LinearWay::kCodesFetched,
                 .name = "codes_fetched",
                 .form = WeightForm::kTensorCodes,
                 .epilogue = kStepsWithNorms,
                 .most_rows = kMaxFetchedTokens,
                 .most_normed_rows = kMaxNormedFetchedTokens,
                 .best_normed_rows = 4,
                 .needs_workspace = true},
    LinearWayRow{.way = LinearWay::kExperts,
                 .name = "experts",
                 .product = ProductKind::kExperts,
                 .reads_input_rows = true},
};

static_assert(
    [] {
      for (std::size_t i = 0; i < kLinearWays.size(); ++i) {
        if (static_cast<std::size_t>(kLinearWays[i].way) != i) return false;
      }
      return true;
    }(),
    "a row stands at another place than its LinearWay");

[[nodiscard]] constexpr const LinearWayRow& row_of_way(LinearWay way) noexcept {
  return kLinearWays[static_cast<std::size_t>(way)];
}
static_assert(row_of_way(LinearWay::kVector).epilogue.have(kUsualSteps),
              "kVector is taken for products that no other way can compute");

/// Returns whether a matrix has the form. It does not read the matrix's memory.
[[nodiscard]] constexpr bool lies_as(WeightForm form, const DeviceMatrix& weight) noexcept {
  const bool is_narrow = weight.dtype == DType::kF16 || weight.dtype == DType::kBF16;
  switch (form) {
    case WeightForm::kAny:
      return true;
    case WeightForm::kNumbers:
      return !weight.keeps_blocks() && is_narrow;
    case WeightForm::kEncoded:
      return weight.encoded();
    case WeightForm::kFloatBoxes:
      return weight.run_count == 1 && weight.runs[0].boxed && is_encoding(weight.runs[0].dtype) &&
             encoding_row(weight.runs[0].dtype).codes == CodeType::kFloat &&
             encoding_row(weight.runs[0].dtype).tensor_codes == TensorCodes::kBoxes;
    case WeightForm::kTensorCodes:
      return std::all_of(weight.runs, weight.runs + weight.run_count,
                         [](const EncodedRun& run) {
                           if (!is_encoding(run.dtype)) return false;
                           const TensorCodes codes = encoding_row(run.dtype).tensor_codes;
                           return run.boxed ? codes == TensorCodes::kBoxes
                                            : codes == TensorCodes::kBlocks;
                         }) &&
             (weight.run_count == 1 || (weight.run_count > 1 && !weight.gated));
  }
  return false;
}

/// Returns the type in which a way takes its input: bf16 where tensor cores multiply encoded
/// weights, the weights' own type where they are numbers of 16 bits, else f32.
[[nodiscard]] constexpr DType input_type(LinearWay way, const DeviceMatrix& weight) noexcept {
  const WeightForm form = row_of_way(way).form;
  if (form == WeightForm::kTensorCodes || form == WeightForm::kFloatBoxes ||
      form == WeightForm::kEncoded) {
    return DType::kBF16;
  }
  return lies_as(WeightForm::kNumbers, weight) ? weight.dtype : DType::kF32;
}

/// Whether a way computes these steps with a product of `rows` rows.
[[nodiscard]] constexpr bool computes(LinearWay way, EpilogueSteps steps,
                                      const DeviceMatrix& weight, std::int64_t rows) noexcept {
  const LinearWayRow& row = row_of_way(way);
  steps.gate = weight.gated;
  if (!row.epilogue.have(steps) || (steps.gate && steps.soft_cap)) return false;
  if (steps.has_norm() && rows > row.most_normed_rows) return false;
  if (steps.adapters &&
      (rows > kMaxAdaptedTokens || weight.run_count > 1 || weight.inputs % kAdapterInputRun != 0 ||
       input_type(way, weight) != DType::kBF16 || (weight.gated && weight.outputs % 64 != 0))) {
    return false;
  }
  if (steps.norm_before &&
      (weight.inputs % kSquaredOutputs != 0 || input_type(way, weight) != DType::kBF16)) {
    return false;
  }
  return !steps.norm_after ||
         (weight.outputs % kSquaredOutputs == 0 && !weight.gated && weight.run_count <= 1);
}

/// Whether a tuning table may choose a way.
[[nodiscard]] constexpr bool is_tuned(const LinearWayRow& row) noexcept {
  return row.product == ProductKind::kMatrix && !row.rounds_rows;
}

/// Returns whether a way computes these steps and multiplies this many rows by a matrix of this
/// form, on a GPU with or without sm_90a's instructions. can() also asks the kernels whether the
/// matrix is too large for them.
[[nodiscard]] constexpr bool takes(LinearWay way, const DeviceMatrix& weight, std::int64_t rows,
                                   bool has_sm90a, const EpilogueSteps& steps = {}) noexcept {
  const LinearWayRow& row = row_of_way(way);
  return lies_as(row.form, weight) && rows <= row.most_rows && (has_sm90a || !row.needs_sm90a) &&
         computes(way, steps, weight, rows);
}

/// Returns whether a product by a way should compute the norms among these steps, instead of
/// separate launches: the way can, and it is faster.
[[nodiscard]] constexpr bool gains_by_norm(LinearWay way, const EpilogueSteps& steps,
                                           const DeviceMatrix& weight, std::int64_t rows) noexcept {
  return rows <= row_of_way(way).best_normed_rows && computes(way, steps, weight, rows);
}

/// The most rows for which any way gains by computing a norm.
inline constexpr std::int64_t kBestNormedRows =
    std::ranges::max(kLinearWays, {}, &LinearWayRow::best_normed_rows).best_normed_rows;

/// Returns whether a way computes such products from codes. Only then are their matrices held for
/// it.
[[nodiscard]] constexpr bool has_way_of_codes(ProductKind product) noexcept {
  return std::ranges::any_of(kLinearWays, [&](const LinearWayRow& row) {
    return row.product == product && row.form == WeightForm::kTensorCodes;
  });
}

/// Returns the way whose input type a matrix's products have: the way of codes if the GPU
/// multiplies codes (`has_codes`) and the matrix is held for that way, else plain arithmetic.
[[nodiscard]] constexpr LinearWay usual_way(ProductKind product, const DeviceMatrix& weight,
                                            bool has_codes) noexcept {
  for (const LinearWayRow& row : kLinearWays) {
    const bool from_codes = row.form == WeightForm::kTensorCodes;
    if (row.product == product && from_codes && has_codes && lies_as(row.form, weight))
      return row.way;
  }
  return product == ProductKind::kExperts ? LinearWay::kExperts : LinearWay::kVector;
}

/// Numbers of the largest piece that is decoded at once. It bounds the memory for an output head
/// with many tokens.
inline constexpr std::int64_t kDecodedNumbers = std::int64_t{64} << 20;

/// Returns the shape of the pieces in which kDecoded decodes a matrix: some of its outputs in bf16;
/// a gated matrix is one piece. The piece has no memory.
[[nodiscard]] constexpr DeviceMatrix decoded_piece(const DeviceMatrix& weight) noexcept {
  constexpr std::int64_t kOutputs = 64;  // a piece has a multiple of this many outputs
  DeviceMatrix piece;
  piece.dtype = DType::kBF16;
  piece.outputs = weight.outputs;
  piece.inputs = weight.inputs;
  piece.stride = weight.stride;
  piece.gated = weight.gated;
  if (!weight.gated && weight.stride > 0) {
    const std::int64_t most = kDecodedNumbers / weight.stride / kOutputs;
    piece.outputs = std::min(weight.outputs, std::max<std::int64_t>(most, 1) * kOutputs);
  }
  return piece;
}

}  // namespace weft::cuda
