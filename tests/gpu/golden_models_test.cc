#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample/sample.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/gpu/device_kinds.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::ContainerEq;
using testing::IsEmpty;

using Rows = test::ReferenceNumbers::Rows;

// How far float32 may differ in another order of summation, as a part of the row's norm.
constexpr double kTolerance = 1e-4;
// How far results may differ when other intermediate numbers are rounded to bf16.
constexpr double kNarrowTolerance = 2e-2;
constexpr std::int64_t kContext = 128;

double relative_error(const std::vector<float>& got, const std::vector<float>& wanted) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double each = static_cast<double>(got[i]) - static_cast<double>(wanted[i]);
    difference += each * each;
    norm += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  return std::sqrt(difference / norm);
}

TokenId best(const std::vector<float>& logits) { return sample(logits, {}, {}); }

/// A folder with a checkpoint and expected.safetensors.
class GoldenFixture : public testing::Test {
 protected:
  void open(const fs::path& folder) {
    if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
    const auto golden = test::GoldenModel::open(folder);
    ASSERT_TRUE(golden) << to_string(golden.error());
    checkpoint_ = golden->model.checkpoint;
    program_ = golden->model.program;
    expected_ = golden->expected;
    ASSERT_TRUE(expected_->has_prompt(0));
  }

  [[nodiscard]] std::unique_ptr<ModelDevice> device(const test::DeviceKind& kind) const {
    return kind.load(checkpoint_, program_, SequenceRunner::options_for(*program_, kContext));
  }
  [[nodiscard]] std::unique_ptr<ModelDevice> device(int threads) const {
    return device(test::host_kind(threads));
  }

  /// Returns the decoder's tokens for prompt `i`, after the encoder has read where there is one (an
  /// encoder's prompt is all there is of it).
  [[nodiscard]] std::vector<TokenId> start(SequenceRunner& runner, int i) const {
    std::vector<TokenId> prompt = expected_->ids("prompt_", i);
    if (!program_->has_encoder) return prompt;
    runner.encode(prompt).value();
    std::vector<TokenId> answer = expected_->ids("greedy_", i);
    answer.pop_back();
    return answer;
  }

  /// Returns the logits for `ids`, fed in pieces of at most `piece` tokens.
  static Rows feed(SequenceRunner& runner, std::span<const TokenId> ids, std::size_t piece) {
    Rows rows;
    const auto keep = [&](ConstRows results) {
      for (std::int64_t i = 0; i < results.count; ++i) {
        rows.emplace_back(results.row(i), results.row(i) + results.width);
      }
    };
    const auto whole = static_cast<std::int64_t>(ids.size());
    while (!ids.empty()) {
      const std::size_t count = std::min(piece, ids.size());
      runner.feed(ids.first(count), keep, false, whole).value();
      ids = ids.subspan(count);
    }
    return rows;
  }

  /// Runs all prompts, each at once or in pieces.
  [[nodiscard]] std::vector<Rows> run(ModelDevice& device, std::size_t piece) const {
    std::vector<Rows> results;
    for (int i = 0; expected_->has_prompt(i); ++i) {
      SequenceRunner runner(device);
      const std::vector<TokenId> ids = start(runner, i);
      results.push_back(feed(runner, ids, std::min(piece, ids.size())));
    }
    return results;
  }

  void expect_reference(const std::vector<Rows>& got) const {
    const std::string kind = program_->has_logits ? "logits_" : "hidden_";
    ASSERT_THAT(got, testing::Not(IsEmpty()));
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_close(got[i], expected_->rows(kind, static_cast<int>(i)), kTolerance, i);
    }
  }

  static void expect_close(const Rows& got, const Rows& wanted, double tolerance, std::size_t i) {
    ASSERT_EQ(got.size(), wanted.size()) << "prompt " << i;
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_EQ(got[row].size(), wanted[row].size());
      EXPECT_LE(relative_error(got[row], wanted[row]), tolerance)
          << "prompt " << i << ", row " << row;
    }
  }

  static constexpr std::size_t kAtOnce = 1000;

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const test::ReferenceNumbers> expected_;
};

class GoldenModelTest : public GoldenFixture, public testing::WithParamInterface<fs::path> {
 protected:
  void SetUp() override { open(GetParam()); }
};

TEST_P(GoldenModelTest, ComputesWhatTheReferenceComputes) {
  expect_reference(run(*device(2), kAtOnce));
}

TEST_P(GoldenModelTest, ChoosesTheTokensThatTheReferenceChooses) {
  if (!program_->has_logits) GTEST_SKIP() << "an encoder generates nothing";
  const auto device = this->device(1);
  for (int i = 0; expected_->has_prompt(i); ++i) {
    const std::vector<TokenId> wanted = expected_->ids("greedy_", i);
    SequenceRunner runner(*device);
    std::vector<TokenId> input = expected_->ids("prompt_", i);
    std::vector<TokenId> got;
    if (program_->has_encoder) {
      runner.encode(input).value();
      got = input = {static_cast<TokenId>(program_->start_token)};
    }
    while (got.size() < wanted.size()) {
      got.push_back(best(feed(runner, input, kAtOnce).back()));
      input = {got.back()};
    }
    EXPECT_THAT(got, ContainerEq(wanted)) << "prompt " << i;
  }
}

TEST_P(GoldenModelTest, GivesTheSameBitsTokenByTokenAsAtOnce) {
  if (!program_->has_logits) GTEST_SKIP() << "an encoder takes its sequence at once";
  const auto device = this->device(1);
  EXPECT_EQ(run(*device, 1), run(*device, kAtOnce));
}

TEST_P(GoldenModelTest, GivesTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<Rows> alone = run(*device(1), kAtOnce);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(run(*device(threads), kAtOnce), alone) << threads << " threads";
  }
}

TEST_P(GoldenModelTest, KnowsEveryTensorOfTheCheckpoint) {
  EXPECT_THAT(program_->unused_tensors, IsEmpty());
}

using KindAndFolder = std::tuple<test::DeviceKind, fs::path>;

/// The golden models on GPUs: on the fake one everywhere, which shows that programs, weights and
/// steps fit together, and on a real one where there is one.
class GpuGoldenModelTest : public GoldenFixture, public testing::WithParamInterface<KindAndFolder> {
 protected:
  void SetUp() override {
    WEFT_SKIP_WITHOUT_GPU(std::get<0>(GetParam()));
    open(std::get<1>(GetParam()));
  }
  [[nodiscard]] std::unique_ptr<ModelDevice> gpu() const { return device(std::get<0>(GetParam())); }

  /// Gives the program's weights another type; a GPU rounds the operands of narrow ones.
  void convert(DType dtype) {
    Program program = *program_;
    for (MatrixPlan& matrix : program.matrices) matrix.dtype = dtype;
    program_ = std::make_shared<const Program>(std::move(program));
  }
};

TEST_P(GpuGoldenModelTest, ComputesWhatTheReferenceComputes) {
  convert(DType::kF32);
  expect_reference(run(*gpu(), kAtOnce));
}

TEST_P(GpuGoldenModelTest, ComputesPromptsInPieces) {
  if (!program_->has_logits) GTEST_SKIP() << "an encoder takes its sequence at once";
  convert(DType::kF32);
  expect_reference(run(*gpu(), 5));
}

TEST_P(GpuGoldenModelTest, ComputesInBf16WhatTheHostComputes) {
  convert(DType::kBF16);
  const std::vector<Rows> wanted = run(*device(2), kAtOnce);
  const std::vector<Rows> got = run(*gpu(), kAtOnce);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], wanted[i], kNarrowTolerance, i);
}

/// Heads as large as real models have, and keys and values in bf16: what the kernels that use a
/// GPU's tensor cores are for. The goldens' heads are smaller.
class GpuTilesTest : public testing::TestWithParam<std::tuple<test::DeviceKind, std::int64_t>> {
 protected:
  void SetUp() override { WEFT_SKIP_WITHOUT_GPU(std::get<0>(GetParam())); }

  /// Returns the logits for a sequence that is fed `piece` tokens at a time.
  [[nodiscard]] Rows run(const test::DeviceKind& kind, std::size_t piece) const {
    const std::int64_t head_size = std::get<1>(GetParam());
    const RandomLlama llama({.layers = 1,
                             .hidden = 2 * head_size,
                             .ffn = 64,
                             .heads = 2,
                             .kv_heads = 1,
                             .context = kPlaces},
                            5);
    DeviceOptions options = SequenceRunner::options_for(*llama.program(), kPlaces);
    options.kv_dtype = DType::kBF16;
    const auto device = kind.load(llama.checkpoint(), llama.program(), options);
    SequenceRunner runner(*device);
    Rows rows;
    for (std::size_t at = 0; at < ids_.size(); at += piece) {
      const std::size_t count = std::min(piece, ids_.size() - at);
      runner
          .feed(
              std::span(ids_).subspan(at, count),
              [&](ConstRows results) {
                rows.emplace_back(results.row(0), results.row(0) + results.width);
              },
              true)
          .value();
    }
    return rows;
  }

  void expect_as_host(std::size_t piece) const {
    const Rows wanted = run(test::host_kind(2), piece);
    const Rows got = run(std::get<0>(GetParam()), piece);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LE(relative_error(got[i], wanted[i]), kNarrowTolerance) << "piece " << i;
    }
  }

  static constexpr std::int64_t kPlaces = 112;
  const std::vector<TokenId> ids_ = [] {
    std::vector<TokenId> ids;
    for (TokenId i = 0; i < 100; ++i) ids.push_back(i * 31 % 80);
    return ids;
  }();
};

TEST_P(GpuTilesTest, ReadPromptsAsTheHost) { expect_as_host(67); }
TEST_P(GpuTilesTest, DecodeAsTheHost) { expect_as_host(1); }

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  return test::test_name(info.param);
}
std::string name_of_both(const testing::TestParamInfo<KindAndFolder>& info) {
  return std::get<0>(info.param).name + "_" + test::test_name(std::get<1>(info.param));
}

std::string name_of_tiles(
    const testing::TestParamInfo<std::tuple<test::DeviceKind, std::int64_t>>& info) {
  return std::get<0>(info.param).name + "_heads_of_" + std::to_string(std::get<1>(info.param));
}

std::vector<test::DeviceKind> gpus() { return {test::fake_gpu_kind(), test::gpu_kind()}; }

INSTANTIATE_TEST_SUITE_P(Committed, GoldenModelTest, testing::ValuesIn(test::committed_goldens()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Shared, GoldenModelTest, testing::ValuesIn(test::shared_goldens()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(, GpuTilesTest,
                         testing::Combine(testing::ValuesIn(gpus()), testing::Values(64, 128)),
                         name_of_tiles);
INSTANTIATE_TEST_SUITE_P(Committed, GpuGoldenModelTest,
                         testing::Combine(testing::ValuesIn(gpus()),
                                          testing::ValuesIn(test::committed_goldens())),
                         name_of_both);
INSTANTIATE_TEST_SUITE_P(Shared, GpuGoldenModelTest,
                         testing::Combine(testing::ValuesIn(gpus()),
                                          testing::ValuesIn(test::shared_goldens())),
                         name_of_both);

}  // namespace
}  // namespace weft
