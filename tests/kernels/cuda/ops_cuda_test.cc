#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

namespace weft::cuda {
namespace {

TEST_F(OpsCudaTest, NormsRowsOfEveryWidthAndType) {
  for (const std::int64_t width : test_sizes<std::int64_t>(
           {1, 5, 64, 129, 1000, 4096, 5120, 10'001, 20'000}, {5, 129, 5120, 20'000})) {
    for (const std::int64_t rows : {1, 7}) {
      for (const DType in_type : kTypes) {
        for (const DType out_type : kTypes) {
          const bool plain = in_type == out_type;
          const Mirror<float> weight = floats(width);
          const Mirror<float> bias = floats(width);
          RowsPair in = RowsPair::random(rows, width, in_type, engine_);
          RowsPair residual = RowsPair::random(rows, width, DType::kF32, engine_);
          RowsPair out = RowsPair::poisoned(rows, width, out_type);
          CudaNormParams params{.rows = rows,
                                .spec = {.kind = plain ? NormKind::kRms : NormKind::kLayer,
                                         .weight_offset = plain ? 0.0F : 1.0F,
                                         .eps = 1e-5F},
                                .scale = plain ? 1.0F : 0.5F,
                                .sum_scale = plain ? 1.0F : 3.0F};
          const auto set = [&](bool on_device) {
            params.in = on_device ? in.device() : in.host();
            params.out = on_device ? out.device() : out.host();
            params.weight = on_device ? weight.device() : weight.host.data();
            if (plain) return;
            params.bias = on_device ? bias.device() : bias.host.data();
            params.residual = on_device ? residual.device() : residual.host();
          };
          set(true);
          expect_runs([&](Stream stream) { return norm(params, stream); });
          set(false);
          reference::norm(params);
          out.expect_close(2e-5);
        }
      }
    }
  }
}

TEST_F(OpsCudaTest, NormsInPlace) {
  const std::int64_t count = test_size(300, 10);
  RowsPair rows = RowsPair::random(count, 4096, DType::kF32, engine_);
  CudaNormParams params{
      .rows = count, .spec = {.eps = 1e-6F}, .in = rows.device(), .out = rows.device()};
  expect_runs([&](Stream stream) { return norm(params, stream); });
  params.in = params.out = rows.host();
  reference::norm(params);
  rows.expect_close(2e-5);
}

TEST_F(OpsCudaTest, EmbedsFromEveryType) {
  constexpr std::int64_t kTokens = 50;
  for (const std::int64_t width : {32, 96, 1344, 4096, 37, 1030}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
      if (dtype == DType::kQ8_0 && width % 32 != 0) continue;
      for (const std::int64_t rows : {1, 9, 300}) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(*bytes_of(dtype, kTokens * width)));
        // Bytes of any value but those that make large numbers or none.
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(below(0x38));
        const Mirror<std::byte> table(std::move(bytes));
        const Mirror<TokenId> ids = integers(rows, kTokens);
        Mirror<float> positions = floats(20 * width);
        const Mirror<float> constant = floats(2 * width);
        const Mirror<std::int32_t> types = integers(rows, 2);
        std::vector<std::int32_t> places(static_cast<std::size_t>(rows));
        for (std::int32_t& place : places) place = below(19) - 1;
        const Mirror<std::int32_t> position_ids(places);
        RowsPair out = RowsPair::poisoned(rows, width);
        const bool all = width % 2 == 0;
        const auto params = [&](bool on_device) {
          CudaEmbeddingParams made{.rows = rows,
                                   .ids = on_device ? ids.device() : ids.host.data(),
                                   .table = on_device ? table.device() : table.host.data(),
                                   .table_rows = kTokens,
                                   .dtype = dtype,
                                   .block = block_of(dtype),
                                   .spec = {.scale = all ? 1.0F : 3.0F},
                                   .out = on_device ? out.device() : out.host()};
          if (all) return made;
          // A rank's part of the table: the tokens before it and behind it are zeros.
          made.first_row = 2;
          made.table_rows = kTokens - 3;
          made.positions = on_device ? positions.device() : positions.host.data();
          made.position_ids = on_device ? position_ids.device() : position_ids.host.data();
          made.spec.position_offset = 2;
          made.constant = on_device ? constant.device() : constant.host.data();
          made.constant_ids = on_device ? types.device() : types.host.data();
          return made;
        };
        expect_runs([&](Stream stream) { return embed(params(true), stream); });
        reference::embed(params(false));
        out.expect_close(1e-6);
      }
    }
  }
}

TEST_F(OpsCudaTest, EmbedsColumnsOfAWiderTable) {
  constexpr std::int64_t kTokens = 20;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ8_0}) {
    for (const auto& [table_width, first, width] :
         std::vector<std::array<std::int64_t, 3>>{{96, 32, 64}, {128, 64, 32}, {50, 7, 9}}) {
      if (dtype == DType::kQ8_0 && table_width % 32 != 0) continue;
      std::vector<std::byte> bytes(
          static_cast<std::size_t>(*bytes_of(dtype, kTokens * table_width)));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(below(0x38));
      const Mirror<std::byte> table(std::move(bytes));
      const Mirror<TokenId> ids = integers(9, kTokens);
      RowsPair out = RowsPair::poisoned(9, width);
      const auto params = [&](bool on_device) {
        return CudaEmbeddingParams{.rows = 9,
                                   .ids = on_device ? ids.device() : ids.host.data(),
                                   .table = on_device ? table.device() : table.host.data(),
                                   .table_rows = kTokens,
                                   .table_width = table_width,
                                   .first_column = first,
                                   .dtype = dtype,
                                   .block = block_of(dtype),
                                   .out = on_device ? out.device() : out.host()};
      };
      expect_runs([&](Stream stream) { return embed(params(true), stream); });
      reference::embed(params(false));
      out.expect_close(1e-6);
    }
  }
}

TEST_F(OpsCudaTest, ScalesRows) {
  for (const auto& [width, scale_count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {33, 1}, {33, 11}, {33, 33}, {4096, 1}, {4096, 32}, {4096, 4096}}) {
    for (const std::int64_t rows : {1, 65}) {
      RowsPair in = RowsPair::random(rows, width, DType::kF32, engine_);
      RowsPair scales = RowsPair::random(rows, scale_count, DType::kF32, engine_);
      RowsPair residual = RowsPair::random(rows, width, DType::kF32, engine_);
      expect_runs([&](Stream stream) {
        return scale_rows({rows, in.device(), scales.device(), residual.device(), in.device()},
                          stream);
      });
      reference::scale_rows({rows, in.host(), scales.host(), residual.host(), in.host()});
      in.expect_close(1e-6);
    }
  }
}

TEST_F(OpsCudaTest, CopiesPagesOfAllLayers) {
  for (const std::int64_t bytes : {4, 20, 37, 4096, 32'768}) {
    constexpr std::int32_t kPages = 40;
    constexpr std::int32_t kBlocks = 6;
    std::vector<Mirror<std::byte>> memory;
    std::vector<PageBlocks> host;
    std::vector<PageBlocks> device;
    for (std::int32_t b = 0; b < kBlocks; ++b) {
      std::vector<std::byte> pages(static_cast<std::size_t>(kPages * bytes));
      for (std::byte& byte : pages) byte = static_cast<std::byte>(engine_());
      memory.emplace_back(std::move(pages));
    }
    for (auto& pages : memory) {
      host.push_back({pages.host.data(), bytes});
      device.push_back({pages.device(), bytes});
    }
    const Mirror<PageBlocks> blocks(device);
    for (const std::int32_t count : {1, 17}) {
      std::vector<PageCopy> list;
      for (std::int32_t c = 0; c < count; ++c) list.push_back({c, kPages - 1 - c});
      const Mirror<PageCopy> copies(list);
      expect_runs([&](Stream stream) {
        return copy_pages({blocks.device(), kBlocks, copies.device(), count}, stream);
      });
      reference::copy_pages({host.data(), kBlocks, list.data(), count});
      for (auto& pages : memory) ASSERT_EQ(pages.fetch(), pages.host);
    }
  }
}

TEST_F(OpsCudaTest, WritesTables) {
  const Mirror<std::int32_t> pages = integers(1000, 5000);
  Mirror<std::int32_t> tables(std::vector<std::int32_t>(4000, -1));
  const Mirror<TableWrite> writes(std::vector<TableWrite>{
      {.table = 0, .first = 3, .first_page = 0, .count = 1},
      {.table = 1000, .first = 0, .first_page = 1, .count = 900},
      {.table = 3000, .first = 500, .first_page = 901, .count = 99},
  });
  expect_runs([&](Stream stream) {
    return write_tables({writes.device(), 3, pages.device(), tables.device()}, stream);
  });
  reference::write_tables({writes.host.data(), 3, pages.host.data(), tables.host.data()});
  EXPECT_EQ(tables.fetch(), tables.host);
}

TEST_F(OpsCudaTest, ResolvesTokensAndCountsThem) {
  constexpr std::int32_t kSlots = 5;
  constexpr std::int64_t kVocabulary = 1000;
  constexpr std::int64_t kRows = 300;
  Mirror<std::uint32_t> counts(std::vector<std::uint32_t>(kSlots * kVocabulary, 7));
  std::vector<SampleSettings> slots(kSlots);
  slots[1].counts = slots[3].counts = true;
  const Mirror<SampleSettings> settings(slots);
  const Mirror<TokenId> last(std::vector<TokenId>{4, 900, kNoToken, 17, 0});
  const Mirror<TokenId> tokens = integers(2000, 50);
  std::vector<TokenId> wanted_ids;
  std::vector<std::int32_t> slot_list;
  std::vector<std::uint8_t> outputs;
  for (std::int64_t t = 0; t < kRows; ++t) {
    wanted_ids.push_back(below(2) == 0 ? -1 - below(kSlots) : below(40));
    slot_list.push_back(below(kSlots + 1) - 1);
    outputs.push_back(static_cast<std::uint8_t>(below(2)));
  }
  const Mirror<TokenId> wanted(wanted_ids);
  const Mirror<std::int32_t> slot_of(slot_list);
  const Mirror<std::uint8_t> is_output(outputs);
  Mirror<TokenId> ids(std::vector<TokenId>(kRows, -77));
  const auto count = [&](bool device) {
    return CudaCountParams{.slot = 3,
                           .tokens = device ? tokens.device() : tokens.host.data(),
                           .token_count = 2000,
                           .prompt_tokens = 700,
                           .counts = {device ? counts.device() : counts.host.data(), kVocabulary}};
  };
  const auto resolve = [&](bool device) {
    const auto of = [device](auto& mirror) {
      return device ? mirror.device() : mirror.host.data();
    };
    return CudaResolveParams{.rows = kRows,
                             .wanted = of(wanted),
                             .slot_of = of(slot_of),
                             .is_output = of(is_output),
                             .last_tokens = of(last),
                             .settings = of(settings),
                             .counts = {of(counts), kVocabulary},
                             .ids = device ? ids.device() : ids.host.data()};
  };
  expect_runs([&](Stream stream) {
    const Status status = start_counts(count(true), stream);
    return status == Status::kSuccess ? resolve_tokens(resolve(true), stream) : status;
  });
  reference::start_counts(count(false));
  reference::resolve_tokens(resolve(false));
  EXPECT_EQ(ids.fetch(), ids.host);
  EXPECT_EQ(counts.fetch(), counts.host);
}

}  // namespace
}  // namespace weft::cuda
