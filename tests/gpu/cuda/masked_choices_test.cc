// Rows with a constraint: devices that are told its masks choose what the host's sampler chooses.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/model/random_llama.h"
#include "weft/sampling/logit_processor.h"
#include "weft/sampling/token_constraint.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

constexpr auto kTokensHere = static_cast<std::uint32_t>(LlamaShape{}.vocabulary);

/// Allows tokens at random, by the sum of those before: by bits, of which there are more than the
/// model has tokens or fewer, or by a list; every third time the output may end, and with three
/// tokens of output it must.
class RandomState final : public ConstraintState {
 public:
  void advance(std::span<const TokenId> tokens) noexcept override {
    for (const TokenId token : tokens) sum_ += static_cast<std::uint32_t>(token) + 1;
    count_ += tokens.size();
  }
  bool roll_back(std::size_t /*tokens*/) noexcept override { return false; }
  AllowedTokens allowed() noexcept override {
    std::mt19937 random(sum_);
    if (count_ == 9) return {.may_end = true};
    if (sum_ % 2 == 0) {
      list_.clear();
      for (TokenId token = 0; token < 100 + static_cast<TokenId>(kTokensHere); ++token) {
        if (random() % 8 == 0) list_.push_back(token);
      }
      return {.tokens = list_, .may_end = sum_ % 3 == 0, .count = 9};
    }
    bits_.resize(sum_ % 4 == 1 ? 2 : 9);
    for (std::uint32_t& word : bits_) word = static_cast<std::uint32_t>(random());
    return {.bits = bits_, .may_end = sum_ % 3 == 0, .count = 9};
  }
  bool is_known(std::span<const TokenId> /*next*/) const noexcept override { return sum_ % 5 == 0; }
  std::unique_ptr<ConstraintState> clone() const override {
    auto copy = std::make_unique<RandomState>();
    copy->sum_ = sum_;
    copy->count_ = count_;
    return copy;
  }

 private:
  std::uint32_t sum_ = 0;
  std::size_t count_ = 0;
  std::vector<TokenId> list_;
  std::vector<std::uint32_t> bits_;
};

class RandomConstraint final : public TokenConstraint {
 public:
  std::unique_ptr<ConstraintState> begin() const override {
    return std::make_unique<RandomState>();
  }
};

/// Changes nothing, but no GPU has it: what it is with is chosen on the host.
class IdleProcessor final : public LogitProcessor {
 public:
  void process(const LogitContext& /*context*/, std::span<float> /*logits*/) override {}
};

/// Returns the parameters of a test's rows, each with a constraint.
std::vector<SamplingParams> constrained_rows() {
  std::vector<SamplingParams> rows = {
      {.temperature = 0, .logprobs = true, .top_logprobs = 3},
      {.temperature = 1, .stop_tokens = {4, 5}},
      {.logit_bias = {{7, 3}, {9, -2}},
       .bad_tokens = {11},
       .min_tokens = 3,
       .temperature = 2,
       .stop_tokens = {4, 5, 6, 30, 31, 32},
       .logprobs = true},
      {.allowed_tokens = {1, 2, 3, 8, 13, 20, 21, 34, 35, 36, 50, 51, 52, 53, 60, 61, 62},
       .min_tokens = 5,
       .temperature = 1,
       .top_k = 5,
       .stop_tokens = {8}},
      {.penalties = {.repetition = 1.5F, .presence = 0.5F}, .temperature = 1, .top_p = 0.9F},
      {.temperature = 0, .beams = {.num_beams = 2}},
  };
  for (SamplingParams& row : rows) row.constraint = std::make_shared<RandomConstraint>();
  return rows;
}

constexpr DeviceLimits kMaskedLimits{.rows = 8,
                                     .pages = 32,
                                     .page_tokens = 4,
                                     .step_tokens = 32,
                                     .context = 16,
                                     .vocabulary = LlamaShape{}.vocabulary};
constexpr std::int64_t kMaskedSteps = 9;
constexpr std::int64_t kMaskedChoices = 7 * kMaskedSteps;

/// Runs the constrained rows, a fork of one of them that comes back with two tokens of output, and
/// a row without a constraint.
StepResult run_rows(StepDevice& device, bool on_host) {
  constexpr std::int32_t kForked = 1, kFork = 6, kFree = 7;
  PlanBuilder plan;
  const auto start = [&](std::int32_t row, std::shared_ptr<const SamplingParams> params) {
    const std::int32_t prompt = row == kForked ? 1 : 3;
    plan.start(row, std::move(params), prompt, {}, static_cast<std::uint64_t>(row));
    plan.table(row, 0, {4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3});
    plan.feed(row, 0, {3 + row, 17, 42}).sample();
    if (row != kForked) return;
    plan.table(kFork, 0, {4 * kFork, 4 * kFork + 1, 4 * kFork + 2, 4 * kFork + 3}).sample(kFork);
    plan.plan().forks.push_back({.from = row, .to = kFork, .copied_pages = 1, .seed = 7});
  };
  std::vector<SamplingParams> rows = constrained_rows();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (on_host) rows[row].logit_processor = std::make_shared<IdleProcessor>();
    start(static_cast<std::int32_t>(row),
          std::make_shared<const SamplingParams>(std::move(rows[row])));
  }
  start(kFree, greedy());
  StepResult all;
  for (std::int32_t at = 3; at < 3 + kMaskedSteps; ++at) {
    const StepResult one = plan.run(device);
    all.samples.insert(all.samples.end(), one.samples.begin(), one.samples.end());
    all.top.insert(all.top.end(), one.top.begin(), one.top.end());
    for (std::int32_t row = 0; row < kMaskedLimits.rows; ++row) plan.feed_last(row, at).sample();
  }
  return all;
}

void expect_same_choices(const StepResult& got, const StepResult& want) {
  ASSERT_EQ(got.samples.size(), want.samples.size());
  for (std::size_t i = 0; i < want.samples.size(); ++i) {
    ASSERT_EQ(got.samples[i].token, want.samples[i].token) << "choice " << i;
    EXPECT_NEAR(got.samples[i].logprob, want.samples[i].logprob, 1e-5) << "choice " << i;
    ASSERT_EQ(got.samples[i].top_count, want.samples[i].top_count) << "choice " << i;
  }
  ASSERT_EQ(got.top.size(), want.top.size());
  for (std::size_t i = 0; i < want.top.size(); ++i) EXPECT_EQ(got.top[i].token, want.top[i].token);
}

class MaskedChoicesTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override { WEFT_SKIP_WITHOUT_GPU(GetParam()); }

  const RandomLlama llama_{{}, 11};
};

TEST_P(MaskedChoicesTest, AreThoseThatTheHostMakes) {
  const auto device = GetParam().load_steps(llama_.checkpoint(), llama_.program(), kMaskedLimits);
  expect_same_choices(run_rows(*device, false), run_rows(*device, true));
}

INSTANTIATE_TEST_SUITE_P(, MaskedChoicesTest,
                         testing::Values(fake_gpu_kind(),
                                         fake_gpu_ranks_kind("fake_gpu_tp2", "cuda:0,cuda:1"),
                                         fake_gpu_ranks_kind("fake_gpu_pp2", "cuda:0 | cuda:1"),
                                         fake_gpu_ranks_kind("host_then_fake_gpu", "cpu | cuda:0"),
                                         gpu_kind(), gpu_ranks_kind("gpu_tp2", "cuda:0,cuda:1"),
                                         gpu_ranks_kind("gpu_pp2", "cuda:0 | cuda:1")),
                         kind_name);

TEST(MaskedChoices, AreMadeByTheGpuWithNoLogitsOnTheHost) {
  const RandomLlama llama{{}, 11};
  const auto gpu = std::make_shared<FakeGpu>();
  const auto device = load_gpu_steps(std::make_unique<FakeRuntime>(gpu), llama.checkpoint(),
                                     llama.program(), kMaskedLimits, DType::kF32, {2, 3})
                          .value();
  static_cast<void>(run_rows(*device, false));
  EXPECT_EQ(gpu->masked, kMaskedChoices);
  EXPECT_EQ(gpu->to_host, 0) << "copies of logits";
  static_cast<void>(run_rows(*device, true));
  EXPECT_EQ(gpu->masked, kMaskedChoices) << "none more";
  EXPECT_EQ(gpu->to_host, kMaskedChoices);
}

}  // namespace
}  // namespace weft::test
