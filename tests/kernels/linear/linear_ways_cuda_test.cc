#include "weft/kernels/linear/linear_ways_cuda.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace weft::cuda {
namespace {

DeviceMatrix numbers_of(DType dtype) {
  DeviceMatrix matrix;
  matrix.dtype = dtype;
  matrix.outputs = 128;
  matrix.inputs = matrix.stride = 256;
  return matrix;
}

/// One run of blocks, or of boxes.
DeviceMatrix encoded_in(DType dtype, bool boxed) {
  DeviceMatrix matrix = numbers_of(dtype);
  matrix.runs[0].dtype = dtype;
  matrix.runs[0].boxed = boxed;
  matrix.run_count = 1;
  return matrix;
}

bool can_take_codes(const DeviceMatrix& matrix) {
  return takes(LinearWay::kCodes, matrix, 1, true);
}

TEST(LinearWays, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const LinearWayRow& row : kLinearWays) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&row_of_way(row.way), &row);
  }
}

TEST(LinearWays, MultiplyCodesOfMatricesThatLieAsTheirEncodingSays) {
  for (const Encoding& encoding : kEncodings) {
    SCOPED_TRACE(encoding.name);
    EXPECT_EQ(can_take_codes(encoded_in(encoding.dtype, true)),
              encoding.tensor_codes == TensorCodes::kBoxes);
    EXPECT_EQ(can_take_codes(encoded_in(encoding.dtype, false)),
              encoding.tensor_codes == TensorCodes::kBlocks);
  }
  EXPECT_FALSE(can_take_codes(numbers_of(DType::kQ8_0))) << "q8_0 without runs";
  EXPECT_FALSE(can_take_codes(numbers_of(DType::kBF16)));
}

TEST(LinearWays, RoundRowsOnlyBesideBoxesOfFloats) {
  for (const Encoding& encoding : kEncodings) {
    EXPECT_EQ(takes(LinearWay::kRounded, encoded_in(encoding.dtype, true), 1, true),
              encoding.dtype == DType::kF8_128 || encoding.dtype == DType::kF8_256)
        << encoding.name;
    EXPECT_FALSE(takes(LinearWay::kRounded, encoded_in(encoding.dtype, false), 1, true));
  }
  EXPECT_FALSE(takes(LinearWay::kRounded, encoded_in(DType::kF8_128, true), 1, false));
  EXPECT_FALSE(takes(LinearWay::kRounded, numbers_of(DType::kBF16), 1, true));
}

TEST(LinearWays, MultiplyCodesOfSeveralEncodingsOnlyWithoutGates) {
  DeviceMatrix matrix = encoded_in(DType::kQ4_K, false);
  matrix.runs[1] = {.dtype = DType::kQ6_K, .first = 64, .boxed = true};
  matrix.run_count = 2;
  EXPECT_TRUE(can_take_codes(matrix));
  matrix.gated = true;
  EXPECT_FALSE(can_take_codes(matrix));
}

TEST(LinearWays, MultiplyOnTensorCoresOnlyWhatTheyAreMadeFor) {
  const DeviceMatrix narrow = numbers_of(DType::kBF16);
  for (const LinearWay way : {LinearWay::kFlat, LinearWay::kLibrary}) {
    EXPECT_TRUE(takes(way, narrow, 1, true));
    EXPECT_FALSE(takes(way, numbers_of(DType::kF32), 1, true));
    EXPECT_FALSE(takes(way, numbers_of(DType::kQ8_0), 1, true));
    EXPECT_FALSE(takes(way, encoded_in(DType::kQ4_K, false), 1, true));
  }
  EXPECT_TRUE(takes(LinearWay::kFlat, narrow, kMaxFlatTokens, true));
  EXPECT_FALSE(takes(LinearWay::kFlat, narrow, kMaxFlatTokens + 1, true));
  EXPECT_TRUE(takes(LinearWay::kLibrary, narrow, kMaxFlatTokens + 1, false));
  EXPECT_FALSE(takes(LinearWay::kFlat, narrow, 1, false));
  EXPECT_FALSE(takes(LinearWay::kCodes, encoded_in(DType::kQ4_K, false), 1, false));
  EXPECT_FALSE(
      takes(LinearWay::kCodes, encoded_in(DType::kQ4_K, false), kMaxCodesTokens + 1, true));
}

TEST(LinearWays, MultiplyFewRowsOnTensorCoresOfAnyGpu) {
  const DeviceMatrix narrow = numbers_of(DType::kF16);
  for (const bool has_sm90a : {false, true}) {
    EXPECT_TRUE(takes(LinearWay::kFlatFetched, narrow, kMaxFlatFetchedTokens, has_sm90a));
    EXPECT_FALSE(takes(LinearWay::kFlatFetched, narrow, kMaxFlatFetchedTokens + 1, has_sm90a));
    for (const Encoding& encoding : kEncodings) {
      const bool boxed = encoding.tensor_codes == TensorCodes::kBoxes;
      EXPECT_EQ(takes(LinearWay::kCodesFetched, encoded_in(encoding.dtype, boxed),
                      kMaxFetchedTokens, has_sm90a),
                encoding.tensor_codes != TensorCodes::kNone)
          << encoding.name;
    }
  }
}

TEST(LinearWays, ComputeTheStepsOfTheirRowAlone) {
  const DeviceMatrix narrow = numbers_of(DType::kBF16);
  for (const LinearWayRow& row : kLinearWays) {
    SCOPED_TRACE(row.name);
    const DeviceMatrix floats = encoded_in(DType::kF8_128, true);
    const DeviceMatrix matrix = lies_as(row.form, narrow)   ? narrow
                                : lies_as(row.form, floats) ? floats
                                                            : encoded_in(DType::kQ4_K, false);
    EXPECT_TRUE(takes(row.way, matrix, 1, true, kUsualSteps));
    EpilogueSteps before = kUsualSteps;
    before.norm_before = true;
    EXPECT_EQ(takes(row.way, matrix, 1, true, before), row.epilogue.norm_before);
    EpilogueSteps after = kUsualSteps;
    after.norm_after = true;
    EXPECT_EQ(takes(row.way, matrix, 1, true, after), row.epilogue.norm_after);
    EXPECT_EQ(row.epilogue.has_norm(), row.most_normed_rows > 0);
    EXPECT_LE(row.best_normed_rows, row.most_normed_rows);
  }
}

TEST(LinearWays, LackAStepThatTheirRowLacks) {
  const EpilogueSteps none;
  for (bool EpilogueSteps::* step :
       {&EpilogueSteps::activation, &EpilogueSteps::gate, &EpilogueSteps::soft_cap,
        &EpilogueSteps::residual, &EpilogueSteps::norm_before, &EpilogueSteps::norm_after}) {
    EpilogueSteps one;
    one.*step = true;
    EXPECT_TRUE(one.have(none));
    EXPECT_TRUE(one.have(one));
    EXPECT_FALSE(none.have(one));
  }
}

TEST(LinearWays, ComputeNormsOfFewRowsAndOfMatricesThatLieForThem) {
  constexpr EpilogueSteps kBefore{.norm_before = true};
  constexpr EpilogueSteps kAfter{.norm_after = true};
  constexpr auto kFlat = LinearWay::kFlat;
  constexpr auto kCodes = LinearWay::kCodes;
  DeviceMatrix narrow = numbers_of(DType::kBF16);
  EXPECT_TRUE(computes(kFlat, kBefore, narrow, kMaxFlatTokens));
  EXPECT_FALSE(computes(kFlat, kBefore, numbers_of(DType::kF16), 1)) << "its input is f16";
  EXPECT_FALSE(
      computes(kCodes, kAfter, encoded_in(DType::kQ4_K, false), kMaxNormedCodesTokens + 1));
  EXPECT_FALSE(computes(LinearWay::kDecoded, kBefore, encoded_in(DType::kQ4_K, false), 0))
      << "its row has no norms, even where there are no rows";
  EXPECT_TRUE(gains_by_norm(kFlat, kAfter, narrow, 16));
  EXPECT_FALSE(gains_by_norm(kFlat, kAfter, narrow, 17));
  EXPECT_TRUE(gains_by_norm(kCodes, kAfter, encoded_in(DType::kQ4_K, false), 16));
  EXPECT_FALSE(gains_by_norm(kCodes, kAfter, encoded_in(DType::kQ4_K, false), 17));
  EXPECT_EQ(kBestNormedRows, 16);
  narrow.gated = true;
  EXPECT_FALSE(computes(kFlat, kAfter, narrow, 1)) << "gated";
  EXPECT_TRUE(computes(kFlat, kBefore, narrow, 1));
  EXPECT_FALSE(computes(kFlat, {.soft_cap = true}, narrow, 1)) << "a cap of a gated matrix";
  DeviceMatrix odd = numbers_of(DType::kBF16);
  odd.outputs = kSquaredOutputs + 1;
  EXPECT_FALSE(computes(kFlat, kAfter, odd, 1));
}

TEST(LinearWays, TakeTheirInputInTheTypeOfTheUsualWay) {
  const auto type = [](const DeviceMatrix& matrix, ProductKind product, bool has_codes) {
    return input_type(usual_way(product, matrix, has_codes), matrix);
  };
  constexpr auto kMatrix = ProductKind::kMatrix;
  constexpr auto kExperts = ProductKind::kExperts;
  EXPECT_EQ(type(numbers_of(DType::kF16), kMatrix, true), DType::kF16);
  EXPECT_EQ(type(numbers_of(DType::kF16), kExperts, true), DType::kF16);
  EXPECT_EQ(type(numbers_of(DType::kF32), kMatrix, true), DType::kF32);
  EXPECT_EQ(type(numbers_of(DType::kQ8_0), kMatrix, true), DType::kF32);
  const DeviceMatrix codes = encoded_in(DType::kQ6_K, true);
  EXPECT_EQ(type(codes, kMatrix, true), DType::kBF16);
  EXPECT_EQ(type(codes, kMatrix, false), DType::kF32);
  EXPECT_EQ(type(codes, kExperts, true), DType::kF32);
}

TEST(LinearWays, HoldMatricesForCodesButNotThoseOfExperts) {
  EXPECT_TRUE(has_way_of_codes(ProductKind::kMatrix));
  EXPECT_FALSE(has_way_of_codes(ProductKind::kExperts));
}

}  // namespace
}  // namespace weft::cuda
