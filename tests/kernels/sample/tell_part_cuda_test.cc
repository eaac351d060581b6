#include "weft/kernels/sample/tell_part_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "weft/tests/kernels/cuda/sizes_cuda.h"
#include "weft/tests/kernels/sample/sample_step_cuda.h"

namespace weft::cuda {
namespace {

using test::kInf;
using test::kNaN;
using test::Mirror;
using test::SampleStep;

class TellPartCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }

  std::mt19937 engine_{5};
};

/// The ways for which the greatest logits of each part are enough.
SampleSettings told_way_of(std::size_t way, std::uint64_t seed) {
  switch (way % 7) {
    case 0:
      return {.seed = seed, .temperature = 0};
    case 1:
      return {.seed = seed, .top_k = 1};
    case 2:
      return {.seed = seed, .top_k = 64};
    case 3:
      return {.seed = seed, .temperature = 0.7F, .top_k = 40, .top_p = 0.95F};
    case 4:
      return {.seed = seed, .temperature = 3, .top_k = 50, .min_p = 0.02F};
    case 5:
      return {.seed = seed, .top_k = 64, .typical_p = 0.8F};
    default:
      return {.seed = seed,
              .temperature = 1.2F,
              .top_k = 60,
              .typical_p = 0.9F,
              .top_p = 0.9F,
              .min_p = 0.02F};
  }
}

/// Compares the device's choices by all logits and by the parts' summaries. They are equal bit for
/// bit, except for logprobs.
void compare_told(SampleStep& step) {
  step.ranks = 0;
  const auto want = step.on_device();
  for (const std::int32_t ranks : test_sizes({1, 2, 3, 8}, {3})) {
    for (const std::int32_t blocks : {1, 8}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, blocks " << blocks);
      step.ranks = ranks;
      step.blocks = blocks;
      const auto got = step.on_device();
      ASSERT_EQ(got.last, want.last);
      for (std::size_t i = 0; i < step.items.size(); ++i) {
        SCOPED_TRACE(i);
        test::expect_near(got.choices[i].logprob, want.choices[i].logprob);
        test::expect_same_top(got.choices[i], want.choices[i]);
      }
    }
  }
  step.blocks = 0;
}

TEST_F(TellPartCudaTest, ChoosesByWhatPartsToldWhatItChoosesByAllLogits) {
  for (const std::int64_t vocabulary : test_sizes<std::int64_t>({1001, 32'003, 151'936}, {1001})) {
    SampleStep step(vocabulary, 70);
    step.add_rows(9, 2, engine_);
    for (float& logit : step.rows[1]) logit = std::round(logit);
    for (float& logit : step.rows[2]) logit = 2.5F;
    for (float& logit : step.rows[3]) logit *= 1e5F;
    for (std::size_t i = 0; i < 70; ++i) {
      step.settings[i] = told_way_of(i, i * 5 + 2);
      step.settings[i].logprobs = i % 3 != 0;
      step.settings[i].top_count = i % 2 == 0 ? static_cast<std::int32_t>(i % 33) : 0;
    }
    SCOPED_TRACE(vocabulary);
    compare_told(step);
  }
}

TEST_F(TellPartCudaTest, ChoosesByPartsThatHaveFewNumbers) {
  SampleStep step(1000, 63);
  std::vector<std::vector<float>> rows(9, std::vector<float>(1000, -kInf));
  rows[1].assign(1000, kNaN);
  rows[2][40] = -3;
  rows[3][999] = 2;
  for (std::size_t i = 450; i < 480; ++i) rows[4][i] = static_cast<float>(i % 7);
  rows[5][3] = kInf;
  rows[6][3] = rows[6][777] = kInf;
  rows[7].assign(1000, -std::numeric_limits<float>::max());
  for (std::size_t i = 0; i < 1000; ++i) rows[8][i] = i % 2 == 0 ? -0.0F : 0.0F;
  step.rows = rows;
  for (std::size_t i = 0; i < 63; ++i) {
    step.items[i].output = static_cast<std::int32_t>(i / 7);
    step.settings[i] = told_way_of(i, i);
    step.settings[i].logprobs = true;
    step.settings[i].top_count = 32;
  }
  compare_told(step);
}

TEST_F(TellPartCudaTest, TellsOfPartsWhatTheHostTells) {
  for (const std::int64_t width :
       test_sizes<std::int64_t>({40, 64, 501, 16'000, 64'001}, {40, 501})) {
    constexpr std::int64_t kRows = 7;
    const std::int64_t stride = (width + 63) / 64 * 64;
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> table(static_cast<std::size_t>(kRows * stride), kInf);
    for (float& logit : table) logit = normal(engine_);
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = [&](std::int64_t row) -> float& {
        return table[static_cast<std::size_t>(row * stride + i)];
      };
      at(1) = i % 3 == 0 ? kNaN : at(1);
      at(2) = -kInf;
      at(3) = i % 31 == 5 ? 1.5F : -kInf;
      at(4) = std::round(at(4));
      at(5) = static_cast<float>(i) * -1e-3F;
    }
    Mirror<float> logits(table);
    for (const std::int32_t blocks : {0, 1, 8}) {
      SCOPED_TRACE(testing::Message() << width << " tokens, blocks " << blocks);
      Mirror<ToldPart> told{std::vector<ToldPart>(kRows)};
      CudaTellParams params{
          .rows = kRows,
          .logits = {.data = logits.device(), .width = width, .stride = stride, .capacity = kRows},
          .first_token = 70'000,
          .told = told.device(),
          .blocks = blocks};
      const char* error =
          test::run_as_graph([&](Stream stream) { return tell_parts(params, stream); });
      ASSERT_EQ(error, nullptr) << error;
      const std::vector<ToldPart> got = told.fetch();
      std::vector<ToldPart> want(kRows);
      params.logits.data = logits.host.data();
      params.told = want.data();
      reference::tell_parts(params);
      for (std::size_t row = 0; row < kRows; ++row) {
        SCOPED_TRACE(row);
        ASSERT_EQ(got[row].count, want[row].count);
        const auto sum = static_cast<double>(want[row].sum);
        EXPECT_NEAR(static_cast<double>(got[row].sum), sum, 1e-6 * sum);
        for (std::size_t i = 0; i < static_cast<std::size_t>(want[row].count); ++i) {
          ASSERT_EQ(got[row].tokens[i].token, want[row].tokens[i].token) << i;
          ASSERT_EQ(got[row].tokens[i].logit, want[row].tokens[i].logit) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::cuda
