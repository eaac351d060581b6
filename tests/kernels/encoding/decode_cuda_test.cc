// Matrices that keep blocks, on a GPU: decoded, multiplied and embedded.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"
#include "weft/tests/kernels/encoding/block_matrix.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda {
namespace {

constexpr std::int64_t kInputs = kBlockInputs;

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

TEST_F(DecodeCudaTest, DecodesBoxesToTheHostsBits) {
  for (const Encoding& encoding : encodings()) {
    if (!box_of(encoding.dtype).exists()) continue;
    for (const bool gated : {false, true}) {
      SCOPED_TRACE(testing::Message() << to_string(encoding.dtype) << (gated ? " gated" : ""));
      const BlockMatrix blocks({{encoding.dtype, 256}}, gated, true, engine_);
      DeviceMatrix to = blocks.on(true);
      to.run_count = 0;
      to.dtype = DType::kBF16;
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
    for (const std::int64_t rows : test_sizes<std::int64_t>({1, 2, 4, 9, 70}, {1, 9})) {
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
