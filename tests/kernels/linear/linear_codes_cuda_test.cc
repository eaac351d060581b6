// Products by codes on tensor cores.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/encoding/block_matrix.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda {
namespace {

constexpr std::int64_t kExactRows = 8;                      // for more, some weights are rounded
constexpr std::int64_t kStreamedRows = kMaxStreamedTokens;  // for more, all weights are

std::uint16_t half_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return bits;
}

float rounded(float number) { return from_bf16(to_bf16(number)); }

/// Weights of a block of q4_k as kCodes rounds them for more than 8 rows: scale, minimum and what
/// they make of a code, each in bf16.
void round_q4_k(const std::byte* block, std::uint16_t* to) {
  const float scale = from_f16(half_at(block));
  const float minimum = from_f16(half_at(block + 2));
  const auto byte = [&](int i) { return std::to_integer<unsigned>(block[4 + i]); };
  for (int group = 0; group < 8; ++group) {
    const bool low = group < 4;
    const unsigned times =
        low ? byte(group) & 63U : (byte(group + 4) & 15U) | (byte(group - 4) >> 6U << 4U);
    const unsigned minus =
        low ? byte(group + 4) & 63U : (byte(group + 4) >> 4U) | (byte(group) >> 6U << 4U);
    const float s = rounded(scale * static_cast<float>(times));
    const float m = rounded(minimum * static_cast<float>(minus));
    for (int i = 0; i < 32; ++i) {
      const auto two = std::to_integer<unsigned>(block[16 + group / 2 * 32 + i]);
      const unsigned code = two >> (4U * static_cast<unsigned>(group % 2)) & 15U;
      to[group * 32 + i] = to_bf16(std::fma(s, static_cast<float>(code), -m));
    }
  }
}

/// Rounds a block of q8_0: scale and weight.
void round_q8_0(const std::byte* block, std::uint16_t* to) {
  const float scale = rounded(from_f16(half_at(block)));
  for (int i = 0; i < 32; ++i) {
    to[i] = to_bf16(scale * static_cast<float>(static_cast<std::int8_t>(block[2 + i])));
  }
}

/// Rounds a block of q6_k.
void round_q6_k(const std::byte* block, std::uint16_t* to) {
  const float whole = from_f16(half_at(block + 208));
  for (int i = 0; i < 256; ++i) {
    const int in_half = i % 128;
    const auto low = std::to_integer<unsigned>(block[i / 128 * 64 + in_half % 64]);
    const auto high = std::to_integer<unsigned>(block[128 + i / 128 * 32 + in_half % 32]);
    const unsigned code = (low >> static_cast<unsigned>(in_half / 64 * 4) & 15U) |
                          (high >> static_cast<unsigned>(in_half / 32 * 2) & 3U) << 4U;
    const float scale =
        rounded(whole * static_cast<float>(static_cast<std::int8_t>(block[192 + i / 16])));
    to[i] = to_bf16(scale * (static_cast<float>(code) - 32));
  }
}

using RoundBlock = void (*)(const std::byte* block, std::uint16_t* to);

/// How weights of an encoding are rounded for many rows; null: they are not.
RoundBlock rounding_of(DType dtype) {
  switch (dtype) {
    case DType::kQ4_K:
      return round_q4_k;
    case DType::kQ8_0:
      return round_q8_0;
    case DType::kQ6_K:
      return round_q6_k;
    default:
      return nullptr;
  }
}

/// A product by codes with rows of bf16, on both sides.
class CodesProduct {
 public:
  using Parts = std::vector<BlockMatrix::Part>;

  CodesProduct(std::int64_t rows, const Parts& parts, bool gated, std::mt19937& random,
               LinearWay way = LinearWay::kCodes)
      : rows_(rows),
        way_(way),
        blocks_(parts, gated, true, random),
        in_(RowsPair::random(rows, kBlockInputs, DType::kBF16, random)),
        out_(RowsPair::poisoned(rows, blocks_.on(true).outputs)),
        workspace_(std::vector<std::byte>(cuda_linear_workspace_bytes(kProcessors, rows))) {}

  [[nodiscard]] CudaLinearParams params(bool device) {
    CudaLinearParams made;
    made.rows = rows_;
    made.in = device ? in_.device() : in_.host();
    made.weight = blocks_.on(device);
    made.out = device ? out_.device() : out_.host();
    made.spec.activation = activation_;
    made.spec.scale = 1e-3F;  // leaves outputs whose sums cancel below what is looked at
    if (residual_) made.residual = device ? residual_->device() : residual_->host();
    made.way = way_;
    made.workspace = workspace_.device();
    return made;
  }

  /// Sets the steps after the product from now on.
  void follow_by(Activation activation, bool residual, std::mt19937& random) {
    activation_ = activation;
    if (!residual) return;
    residual_.emplace(RowsPair::random(rows_, blocks_.on(true).outputs, DType::kF32, random));
  }

  /// Computes the host's result, with weights rounded as they are for this number of rows.
  void compute_reference() {
    CudaLinearParams made = params(false);
    if (rows_ > kExactRows) {
      decode();
      made.weight.run_count = 0;
      made.weight.dtype = DType::kF32;
      made.weight.data = reinterpret_cast<const std::byte*>(numbers_.data());
    }
    weft::test::linear_reference(made);
  }

  RowsPair& out() { return out_; }

  /// Whether the next product finds counters, and parts without counters, as this one did.
  [[nodiscard]] bool has_zero_counters() const {
    const std::vector<std::byte> all = workspace_.fetch();
    return std::ranges::all_of(std::span(all).first(kLinearCounterBytes),
                               [](std::byte byte) { return byte == std::byte{0}; });
  }

 private:
  static constexpr std::int32_t kProcessors = 256;  // no GPU has more

  void decode() {
    const DeviceMatrix& blocks = blocks_.on(false);
    numbers_.clear();
    for (std::int64_t row = 0; row < blocks.rows(); ++row) {
      const std::int64_t in_pair = row % (2 * kGateBlock);
      const std::int64_t gate = row / (2 * kGateBlock) * kGateBlock + in_pair % kGateBlock;
      if (blocks.gated && gate >= blocks.outputs) {
        numbers_.resize(numbers_.size() + kBlockInputs);
        continue;
      }
      const std::int64_t up = in_pair < kGateBlock ? 0 : blocks.outputs;
      decode(blocks.gated ? gate + up : row, row);
    }
  }

  void decode(std::int64_t output, std::int64_t row) {
    const DeviceMatrix& blocks = blocks_.on(false);
    const EncodedRun* run = &blocks.runs[0];
    for (int i = 1; i < blocks.run_count; ++i) {
      if (output >= blocks.runs[i].first) run = &blocks.runs[i];
    }
    const RoundBlock round = rounding_of(run->dtype);
    if (round == nullptr) {
      std::vector<float> numbers = weft::test::decoded_row(blocks, row);
      if (way_ == LinearWay::kCodes && rows_ > kStreamedRows) {
        std::ranges::transform(numbers, numbers.begin(), rounded);
      }
      numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
      return;
    }
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(kBlockInputs));
    for (std::int64_t k = 0; k < kBlockInputs; k += run->block_elements) {
      const std::int64_t block = ((output - run->first) * kBlockInputs + k) / run->block_elements;
      round(run->data + block * run->block_bytes, bits.data() + k);
    }
    for (const std::uint16_t number : bits) numbers_.push_back(from_bf16(number));
  }

  std::int64_t rows_;
  LinearWay way_;
  Activation activation_ = Activation::kNone;
  std::optional<RowsPair> residual_;
  BlockMatrix blocks_;
  RowsPair in_;
  RowsPair out_;
  Mirror<std::byte> workspace_;
  std::vector<float> numbers_;
};

class AnyCodesCudaTest : public OpsCudaTest {
 protected:
  void SetUp() override {
    OpsCudaTest::SetUp();
    if (!IsSkipped()) linear_.emplace();
  }

  void expect_product(std::int64_t rows, const CodesProduct::Parts& parts, bool gated,
                      LinearWay way = LinearWay::kCodes) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << to_string(parts.front().dtype) << ", "
                                    << parts.front().outputs << (gated ? " gated" : ""));
    CodesProduct product(rows, parts, gated, engine_, way);
    ASSERT_TRUE(can(way, product.params(true).weight, rows));
    const auto run = [&](Stream stream) { return linear_->run(product.params(true), stream); };
    expect_runs(run);
    expect_runs(run);
    EXPECT_TRUE(product.has_zero_counters());
    product.compute_reference();
    // A gate and what it multiplies are rounded both.
    const double rounded_weights = gated ? 5e-2 : 2e-2;
    product.out().expect_close(rows > kStreamedRows ? rounded_weights : 1e-2);
  }

  std::optional<LinearEngine> linear_;
};

class CodesCudaTest : public AnyCodesCudaTest {
 protected:
  void SetUp() override {
    AnyCodesCudaTest::SetUp();
    if (IsSkipped()) return;
    const BlockMatrix any({{DType::kQ4_K, 37}}, false, false, engine_);
    if (!can(LinearWay::kCodes, any.on(true), 1)) GTEST_SKIP() << "the GPU is none of sm_90";
  }
};

/// Products whose codes threads fetch, on any GPU.
class FetchedCodesCudaTest : public AnyCodesCudaTest {
 protected:
  void expect_fetched(std::int64_t rows, const CodesProduct::Parts& parts, bool gated) {
    expect_product(rows, parts, gated, LinearWay::kCodesFetched);
  }
};

const std::vector<std::int64_t> row_counts =
    test_sizes<std::int64_t>({1, 8, 9, 16, 17, 33, 64, 65, 128, 129, 300}, {1, 17, 33});

TEST_F(CodesCudaTest, MultipliesBlocksOfQ4K) {
  for (const bool gated : {false, true}) {
    for (const std::int64_t outputs : test_sizes<std::int64_t>({1, 37, 300}, {37, 150})) {
      for (const std::int64_t rows : row_counts) {
        expect_product(rows, {{DType::kQ4_K, gated ? 2 * outputs : outputs}}, gated);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CodesCudaTest, MultipliesEveryEncodingThatIsHeldInBoxes) {
  for (const Encoding& encoding : encodings()) {
    if (!box_of(encoding.dtype).exists()) continue;
    for (const bool gated : {false, true}) {
      for (const std::int64_t outputs : test_sizes<std::int64_t>({64, 320}, {64})) {
        for (const std::int64_t rows : row_counts) {
          expect_product(rows, {{encoding.dtype, gated ? 2 * outputs : outputs}}, gated);
        }
      }
    }
  }
}

TEST_F(CodesCudaTest, MultipliesMatricesOfSeveralEncodings) {
  for (const std::int64_t rows : row_counts) {
    expect_product(rows, {{DType::kQ4_K, 256}, {DType::kQ6_K, 64}}, false);
    expect_product(rows, {{DType::kQ8_0, 64}, {DType::kQ4_K, 100}, {DType::kI4_128, 192}}, false);
  }
}

TEST_F(CodesCudaTest, ComputesWhatFollowsTheProductOfManyRows) {
  for (const bool gated : {false, true}) {
    for (const Activation activation : {Activation::kSilu, Activation::kGelu, Activation::kNone}) {
      for (const std::int64_t rows : test_sizes<std::int64_t>({17, 61, 127, 300}, {17, 129})) {
        SCOPED_TRACE(testing::Message() << rows << " rows, activation "
                                        << static_cast<int>(activation) << ", gated " << gated);
        const bool residual = activation == Activation::kNone || !gated;
        CodesProduct product(rows, {{DType::kI4_128, 128}}, gated, engine_);
        product.follow_by(activation, residual, engine_);
        expect_runs([&](Stream stream) { return linear_->run(product.params(true), stream); });
        product.compute_reference();
        product.out().expect_close(4e-2);
      }
    }
  }
}

const std::vector<std::int64_t> fetched_row_counts =
    test_sizes<std::int64_t>({1, 7, 8, 9, 16, 17, 32, 33, 64}, {3, 11, 33});

TEST_F(FetchedCodesCudaTest, MultipliesEveryEncoding) {
  for (const Encoding& encoding : encodings()) {
    if (encoding.tensor_codes == TensorCodes::kNone) continue;
    const bool boxed = encoding.tensor_codes == TensorCodes::kBoxes;
    for (const bool gated : {false, true}) {
      for (const std::int64_t outputs : test_sizes<std::int64_t>({64, 320}, {64})) {
        for (const std::int64_t rows : fetched_row_counts) {
          expect_fetched(rows, {{encoding.dtype, gated ? 2 * outputs : outputs}}, gated);
          // Only blocks may end anywhere.
          if (!boxed) expect_fetched(rows, {{encoding.dtype, 2 * (outputs - 27)}}, gated);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(FetchedCodesCudaTest, MultipliesMatricesOfSeveralEncodings) {
  for (const std::int64_t rows : fetched_row_counts) {
    expect_fetched(rows, {{DType::kQ8_0, 64}, {DType::kQ4_K, 100}, {DType::kI4_128, 192}}, false);
  }
}

TEST_F(FetchedCodesCudaTest, MultipliesATileBetweenBlocksOfALaunchAsOneThatIsWhole) {
  expect_fetched(5, {{DType::kF8_128, 1024}}, false);
  expect_fetched(5, {{DType::kI4_128, 1024}}, false);
}

TEST_F(FetchedCodesCudaTest, ComputesARowAlikeBesideAnyNumberOfRowsOfItsRange) {
  for (const DType dtype : {DType::kQ4_K, DType::kQ6_K, DType::kF8_128}) {
    CodesProduct product(64, {{dtype, 320}}, false, engine_, LinearWay::kCodesFetched);
    expect_runs([&](Stream stream) { return linear_->run(product.params(true), stream); });
    for (const std::int64_t rows : {17, 32, 33, 63}) {
      RowsPair out = RowsPair::poisoned(rows, 320);
      CudaLinearParams params = product.params(true);
      params.rows = rows;
      params.out = out.device();
      expect_runs([&](Stream stream) { return linear_->run(params, stream); });
      EXPECT_EQ(out.fetch(rows), product.out().fetch(rows)) << to_string(dtype) << ", " << rows;
    }
  }
}

TEST_F(FetchedCodesCudaTest, CannotMultiplyMoreRowsThanItsWayHas) {
  const BlockMatrix codes({{DType::kQ4_K, 37}}, false, true, engine_);
  EXPECT_TRUE(can(LinearWay::kCodesFetched, codes.on(true), kMaxFetchedTokens));
  EXPECT_FALSE(can(LinearWay::kCodesFetched, codes.on(true), kMaxFetchedTokens + 1));
}

TEST_F(CodesCudaTest, MultipliesATileBetweenBlocksOfALaunchAsOneThatIsWhole) {
  // Eight tiles of two or four units on more than a hundred multiprocessors: every tile is cut.
  expect_product(5, {{DType::kF8_128, 1024}}, false);
  expect_product(5, {{DType::kI4_128, 1024}}, false);
}

/// Encodings beside which few rows are converted.
constexpr DType kConverting[] = {DType::kF8_128, DType::kF8_256};

TEST_F(CodesCudaTest, MultipliesFewRowsOfZerosAndOfNumbersThatDifferMuch) {
  constexpr std::int64_t kRows = 2;
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<std::size_t>(kRows * kBlockInputs));
  for (std::size_t i = kBlockInputs; i < numbers.size(); ++i) {
    numbers[i] = normal(engine_) * (i % 7 == 0 ? 1e-6F : i % 100 == 0 ? 1e3F : 1.0F);
  }
  for (const DType dtype : kConverting) {
    SCOPED_TRACE(to_string(dtype));
    CodesProduct product(kRows, {{dtype, 192}}, false, engine_);
    RowsPair in = RowsPair::of(kRows, kBlockInputs, numbers, DType::kBF16);
    CudaLinearParams params = product.params(true);
    params.in = in.device();
    expect_runs([&](Stream stream) { return linear_->run(params, stream); });
    params = product.params(false);
    params.in = in.host();
    weft::test::linear_reference(params);
    product.out().expect_close(1e-2);
  }
}

TEST_F(CodesCudaTest, MakesNothingFiniteOfARowWithAnInfiniteNumberAndKeepsItsNeighbours) {
  constexpr std::int64_t kRows = 6;
  constexpr std::int64_t kOutputs = 64;
  std::vector<float> numbers(static_cast<std::size_t>(kRows * kBlockInputs), 0.5F);
  numbers[kBlockInputs + 300] = INFINITY;
  for (const DType dtype : kConverting) {
    CodesProduct product(kRows, {{dtype, kOutputs}}, false, engine_);
    const RowsPair in = RowsPair::of(kRows, kBlockInputs, numbers, DType::kBF16);
    CudaLinearParams params = product.params(true);
    params.in = in.device();
    expect_runs([&](Stream stream) { return linear_->run(params, stream); });
    const std::vector<double> out = product.out().fetch(kRows);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::isfinite(out[i]), i / kOutputs != 1) << to_string(dtype) << ", " << i;
    }
  }
}

TEST_F(CodesCudaTest, ComputesARowAlikeBesideAnyNumberOfRowsOfItsRange) {
  struct Range {
    std::int64_t all;
    std::vector<std::int64_t> fewer;
  };
  // The most rows by so many outputs are more tiles of 128 tokens than a device has
  // multiprocessors, so they are multiplied in tiles of 256; the fewest rows are not.
  constexpr std::int64_t kOutputs = test_size(4160, 320);
  const Range ranges[] = {{128, test_sizes<std::int64_t>({kStreamedRows + 1, 65, 100}, {65})},
                          {test_size(600, 300), test_sizes<std::int64_t>({129, 300}, {129})}};
  for (const DType dtype : {DType::kQ4_K, DType::kQ6_K, DType::kF8_128, DType::kI4_128}) {
    for (const Range& range : ranges) {
      CodesProduct product(range.all, {{dtype, kOutputs}}, false, engine_);
      expect_runs([&](Stream stream) { return linear_->run(product.params(true), stream); });
      if (dtype == DType::kQ4_K) {  // one encoding, since the reference takes seconds
        product.compute_reference();
        product.out().expect_close(1e-2);
      }
      for (const std::int64_t rows : range.fewer) {
        RowsPair out = RowsPair::poisoned(rows, kOutputs);
        CudaLinearParams params = product.params(true);
        params.rows = rows;
        params.out = out.device();
        expect_runs([&](Stream stream) { return linear_->run(params, stream); });
        EXPECT_EQ(out.fetch(rows), product.out().fetch(rows)) << to_string(dtype) << ", " << rows;
      }
    }
  }
}

TEST_F(CodesCudaTest, CannotMultiplyOtherMatricesOrManyRows) {
  const BlockMatrix unboxed({{DType::kQ6_K, 64}}, false, false, engine_);
  const BlockMatrix other({{DType::kQ4_K, 64}, {DType::kIQ2_S, 64}}, false, false, engine_);
  const BlockMatrix two_and_gated({{DType::kQ4_K, 64}, {DType::kQ6_K, 64}}, true, true, engine_);
  const BlockMatrix codes({{DType::kQ4_K, 37}}, false, true, engine_);
  EXPECT_FALSE(can(LinearWay::kCodes, unboxed.on(true), 1));
  EXPECT_FALSE(can(LinearWay::kCodes, other.on(true), 1));
  EXPECT_FALSE(can(LinearWay::kCodes, two_and_gated.on(true), 1));
  EXPECT_FALSE(can(LinearWay::kCodes, codes.on(true), kMaxCodesTokens + 1));
}

TEST_F(CodesCudaTest, DecodesBoxesForProductsOneByOne) {
  for (const bool gated : {false, true}) {
    CodesProduct product(3, {{DType::kQ6_K, 128}}, gated, engine_);
    CudaLinearParams params = product.params(true);
    RowsPair in = RowsPair::random(3, kBlockInputs, DType::kF32, engine_);
    params.way = LinearWay::kVector;
    params.in = in.device();
    expect_runs([&](Stream stream) { return linear_->run(params, stream); });
    params = product.params(false);
    params.in = in.host();
    weft::test::linear_reference(params);
    product.out().expect_close(1e-3);
  }
}

}  // namespace
}  // namespace weft::cuda
