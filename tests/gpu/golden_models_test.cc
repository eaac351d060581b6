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
#include <utility>
#include <vector>

#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample.h"
#include "weft/model/checkpoint.h"
#include "weft/model/program.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::ContainerEq;
using testing::IsEmpty;

using Rows = test::ReferenceNumbers::Rows;

// What float32 in another order of summation may differ by, as a part of the row's norm.
constexpr double kTolerance = 1e-4;
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
class GoldenModelTest : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    if (!fs::exists(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
    const auto golden = test::GoldenModel::open(GetParam());
    ASSERT_TRUE(golden) << to_string(golden.error());
    checkpoint_ = golden->model.checkpoint;
    program_ = golden->model.program;
    expected_ = golden->expected;
    ASSERT_TRUE(expected_->has_prompt(0));
  }

  [[nodiscard]] std::unique_ptr<HostDevice> device(int threads) const {
    HostOptions options = SequenceRunner::options_for(*program_, kContext);
    options.threads = threads;
    return HostDevice::load(checkpoint_, program_, options).value();
  }

  /// The decoder's tokens for prompt `i` (an encoder's prompt is all there is of it), after the
  /// encoder has read where there is one.
  [[nodiscard]] std::vector<TokenId> start(SequenceRunner& runner, int i) const {
    std::vector<TokenId> prompt = expected_->ids("prompt_", i);
    if (!program_->has_encoder) return prompt;
    runner.encode(prompt).value();
    std::vector<TokenId> answer = expected_->ids("greedy_", i);
    answer.pop_back();
    return answer;
  }

  /// What comes out for `ids`, fed in pieces of at most `piece` tokens.
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

  /// All prompts at once, or in pieces.
  [[nodiscard]] std::vector<Rows> run(HostDevice& device, std::size_t piece) const {
    std::vector<Rows> results;
    for (int i = 0; expected_->has_prompt(i); ++i) {
      SequenceRunner runner(device);
      const std::vector<TokenId> ids = start(runner, i);
      results.push_back(feed(runner, ids, std::min(piece, ids.size())));
    }
    return results;
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const test::ReferenceNumbers> expected_;
};

constexpr std::size_t kAtOnce = 1000;

TEST_P(GoldenModelTest, ComputesWhatTheReferenceComputes) {
  const auto device = this->device(2);
  const std::string kind = program_->has_logits ? "logits_" : "hidden_";
  const std::vector<Rows> got = run(*device, kAtOnce);
  ASSERT_THAT(got, testing::Not(IsEmpty()));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Rows wanted = expected_->rows(kind, static_cast<int>(i));
    ASSERT_EQ(got[i].size(), wanted.size()) << "prompt " << i;
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_EQ(got[i][row].size(), wanted[row].size());
      EXPECT_LE(relative_error(got[i][row], wanted[row]), kTolerance)
          << "prompt " << i << ", row " << row;
    }
  }
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

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  return test::test_name(info.param);
}

INSTANTIATE_TEST_SUITE_P(Committed, GoldenModelTest, testing::ValuesIn(test::committed_goldens()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Shared, GoldenModelTest, testing::ValuesIn(test::shared_goldens()),
                         name_of);

}  // namespace
}  // namespace weft
