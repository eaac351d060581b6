// Matrices that keep blocks, on a GPU: decoded, multiplied and embedded.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "weft/kernels/embedding/embedding_cuda.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda {
namespace {

constexpr std::int64_t kInputs = 512;  // whole blocks of every encoding

/// A matrix on both sides whose outputs are held in up to three encodings.
class BlockMatrix {
 public:
  BlockMatrix(std::vector<DType> types, std::int64_t outputs, bool gated, std::mt19937& random) {
    const std::int64_t all = gated ? 2 * outputs : outputs;
    const auto parts = static_cast<std::int64_t>(types.size());
    for (DeviceMatrix* side : {&host_, &device_}) {
      side->dtype = types.front();
      side->outputs = outputs;
      side->inputs = kInputs;
      side->stride = kInputs;
      side->gated = gated;
      side->run_count = static_cast<std::int32_t>(parts);
    }
    for (std::int64_t i = 0; i < parts; ++i) {
      const DType dtype = types[static_cast<std::size_t>(i)];
      const DTypeBlock block = block_of(dtype);
      const std::int64_t first = all * i / parts;
      const std::int64_t count = (all * (i + 1) / parts - first) * (kInputs / block.elements);
      std::vector<std::byte> bytes;
      for (std::int64_t b = 0; b < count; ++b) {
        const auto one = weft::test::random_block(encoding_of(dtype), random);
        bytes.insert(bytes.end(), one.begin(), one.end());
      }
      runs_.emplace_back(std::move(bytes));
      const EncodedRun run{nullptr, dtype, static_cast<std::int32_t>(first),
                           static_cast<std::int32_t>(block.elements),
                           static_cast<std::int32_t>(block.bytes)};
      host_.runs[i] = device_.runs[i] = run;
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      host_.runs[i].data = runs_[i].host.data();
      device_.runs[i].data = runs_[i].device();
    }
  }

  [[nodiscard]] const DeviceMatrix& on(bool device) const { return device ? device_ : host_; }

 private:
  std::vector<Mirror<std::byte>> runs_;
  DeviceMatrix host_;
  DeviceMatrix device_;
};

class DecodeCudaTest : public OpsCudaTest {};

TEST_F(DecodeCudaTest, DecodesEveryEncodingToTheHostsBits) {
  for (const Encoding& encoding : encodings()) {
    for (const bool gated : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_string(encoding.dtype) << (gated ? " gated" : ""));
      const BlockMatrix blocks({encoding.dtype}, 11, gated, engine_);
      DeviceMatrix to = blocks.on(true);
      to.run_count = 0;
      to.dtype = DType::kBF16;
      to.stride = kInputs + 64;
      Mirror<std::uint16_t> numbers(
          std::vector<std::uint16_t>(static_cast<std::size_t>(to.rows() * to.stride), 0xffff));
      to.data = reinterpret_cast<const std::byte*>(numbers.device());
      expect_runs([&](Stream stream) { return decode_matrix({blocks.on(true), 0, to}, stream); });
      to.data = reinterpret_cast<const std::byte*>(numbers.host.data());
      weft::test::decode_reference({blocks.on(false), 0, to});
      EXPECT_EQ(numbers.fetch(), numbers.host);
    }
  }
}

TEST_F(DecodeCudaTest, DecodesSomeOutputsOfAMatrixOfSeveralEncodings) {
  const BlockMatrix blocks({DType::kQ4_K, DType::kI4_128, DType::kMXFP4}, 40, false, engine_);
  DeviceMatrix to = blocks.on(true);
  to.run_count = 0;
  to.dtype = DType::kBF16;
  to.outputs = 20;
  Mirror<std::uint16_t> numbers(
      std::vector<std::uint16_t>(static_cast<std::size_t>(to.rows() * to.stride), 0xffff));
  to.data = reinterpret_cast<const std::byte*>(numbers.device());
  expect_runs([&](Stream stream) { return decode_matrix({blocks.on(true), 9, to}, stream); });
  to.data = reinterpret_cast<const std::byte*>(numbers.host.data());
  weft::test::decode_reference({blocks.on(false), 9, to});
  EXPECT_EQ(numbers.fetch(), numbers.host);
}

TEST_F(DecodeCudaTest, MultipliesByBlocks) {
  LinearEngine engine;
  for (const bool gated : {false, true}) {
    for (const std::int64_t rows : {1, 2, 4, 9, 70}) {
      SCOPED_TRACE(testing::Message() << rows << (gated ? " rows, gated" : " rows"));
      const BlockMatrix blocks({DType::kQ6_K, DType::kIQ2_S}, 37, gated, engine_);
      RowsPair in = RowsPair::random(rows, kInputs, DType::kF32, engine_);
      RowsPair out = RowsPair::poisoned(rows, 37);
      const Mirror<float> bias = floats(std::int64_t{2} * 37);
      const auto params = [&](bool device) {
        CudaLinearParams made;
        made.rows = rows;
        made.in = device ? in.device() : in.host();
        made.weight = blocks.on(device);
        made.bias = device ? bias.device() : bias.host.data();
        made.out = device ? out.device() : out.host();
        return made;
      };
      ASSERT_TRUE(can(LinearWay::kVector, blocks.on(true), rows));
      EXPECT_FALSE(can(LinearWay::kLibrary, blocks.on(true), rows));
      expect_runs([&](Stream stream) { return engine.run(params(true), stream); });
      weft::test::linear_reference(params(false));
      out.expect_close(1e-3);  // gated outputs are products of sums that cancel
    }
  }
}

std::uint16_t half_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return bits;
}

float rounded(float number) { return from_bf16(to_bf16(number)); }

/// Weights of a block of q4_k as kCodes rounds them for more than 8 tokens: scale, minimum and what
/// they make of a code, each in bf16.
void round_block(const std::byte* block, std::uint16_t* to) {
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

/// A product of a matrix in q4_k with rows of bf16, on both sides.
class CodesProduct {
 public:
  CodesProduct(std::int64_t rows, std::int64_t outputs, bool gated, std::mt19937& random)
      : rows_(rows),
        blocks_({DType::kQ4_K}, outputs, gated, random),
        in_(RowsPair::random(rows, kInputs, DType::kBF16, random)),
        out_(RowsPair::poisoned(rows, outputs)),
        workspace_(std::vector<std::byte>(cuda_linear_workspace_bytes(kProcessors, rows))) {
    round_weights();
  }

  [[nodiscard]] CudaLinearParams params(bool device, LinearWay way) {
    CudaLinearParams made;
    made.rows = rows_;
    made.in = device ? in_.device() : in_.host();
    made.weight = blocks_.on(device);
    made.out = device ? out_.device() : out_.host();
    made.spec.scale = 1e-3F;  // leaves outputs whose sums cancel below what is looked at
    made.way = way;
    made.workspace = workspace_.device();
    return made;
  }

  /// On the host, with weights that are rounded.
  [[nodiscard]] CudaLinearParams params_of_rounded() {
    CudaLinearParams made = params(false, LinearWay::kVector);
    made.weight.run_count = 0;
    made.weight.dtype = DType::kBF16;
    made.weight.data = reinterpret_cast<const std::byte*>(rounded_.data());
    return made;
  }

  RowsPair& out() { return out_; }

 private:
  static constexpr std::int32_t kProcessors = 256;  // no GPU has more

  void round_weights() {
    const DeviceMatrix& blocks = blocks_.on(false);
    rounded_.resize(static_cast<std::size_t>(blocks.rows() * kInputs));
    const std::int64_t all = blocks.gated ? 2 * blocks.outputs : blocks.outputs;
    for (std::int64_t output = 0; output < all; ++output) {
      const std::int64_t of = output % blocks.outputs;
      const std::int64_t up = output < blocks.outputs ? 0 : kGateBlock;
      const std::int64_t row =
          blocks.gated ? of / kGateBlock * 2 * kGateBlock + of % kGateBlock + up : output;
      for (std::int64_t k = 0; k < kInputs; k += 256) {
        round_block(blocks.runs[0].data + (output * kInputs + k) / 256 * 144,
                    rounded_.data() + row * kInputs + k);
      }
    }
  }

  std::int64_t rows_;
  BlockMatrix blocks_;
  RowsPair in_;
  RowsPair out_;
  Mirror<std::byte> workspace_;
  std::vector<std::uint16_t> rounded_;
};

TEST_F(DecodeCudaTest, MultipliesByCodes) {
  LinearEngine engine;
  for (const bool gated : {false, true}) {
    for (const std::int64_t outputs : {1, 37, 300}) {
      for (const std::int64_t rows : {1, 8, 9, 16, 17, 33, 64, 65, 128}) {
        SCOPED_TRACE(testing::Message()
                     << rows << " rows, " << outputs << (gated ? " outputs, gated" : " outputs"));
        CodesProduct product(rows, outputs, gated, engine_);
        if (!can(LinearWay::kCodes, product.params(true, LinearWay::kCodes).weight, rows)) {
          GTEST_SKIP() << "the GPU is none of sm_90";
        }
        const auto run = [&](Stream stream) {
          return engine.run(product.params(true, LinearWay::kCodes), stream);
        };
        expect_runs(run);
        expect_runs(run);  // counters are left as they were found
        weft::test::linear_reference(rows <= 8 ? product.params(false, LinearWay::kCodes)
                                               : product.params_of_rounded());
        product.out().expect_close(1e-2);
      }
    }
  }
}

TEST_F(DecodeCudaTest, HasNoCodesToMultiplyInOtherMatricesOrForManyRows) {
  const BlockMatrix other({DType::kQ6_K}, 37, false, engine_);
  const BlockMatrix several({DType::kQ4_K, DType::kQ6_K}, 37, false, engine_);
  const BlockMatrix codes({DType::kQ4_K}, 37, false, engine_);
  EXPECT_FALSE(can(LinearWay::kCodes, other.on(true), 1));
  EXPECT_FALSE(can(LinearWay::kCodes, several.on(true), 1));
  EXPECT_FALSE(can(LinearWay::kCodes, codes.on(true), kMaxCodesTokens + 1));
}

TEST_F(DecodeCudaTest, EmbedsFromEveryEncoding) {
  constexpr std::int64_t kTokens = 7;
  for (const Encoding& encoding : encodings()) {
    SCOPED_TRACE(to_string(encoding.dtype));
    const BlockMatrix table({encoding.dtype}, kTokens, false, engine_);
    const Mirror<TokenId> ids({3, 0, 6, 6});
    RowsPair out = RowsPair::poisoned(4, kInputs);
    const auto params = [&](bool device) {
      CudaEmbeddingParams made;
      made.rows = 4;
      made.ids = device ? ids.device() : ids.host.data();
      made.table = table.on(device).runs[0].data;
      made.table_rows = kTokens;
      made.dtype = encoding.dtype;
      made.block = block_of(encoding.dtype);
      made.out = device ? out.device() : out.host();
      return made;
    };
    expect_runs([&](Stream stream) { return embed(params(true), stream); });
    reference::embed(params(false));
    out.expect_close(0);
  }
}

}  // namespace
}  // namespace weft::cuda
