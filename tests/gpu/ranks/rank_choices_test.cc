// Choices where ranks share the head: by what they tell of their parts of the logits and by all
// logits the same tokens.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/step_ranks.h"
#include "weft/gpu/step_options.h"
#include "weft/kernels/sample/tell_part_cuda.h"
#include "weft/model/random_llama.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

constexpr std::int32_t kChoiceVocabulary = 1000;
constexpr DeviceLimits kChoiceLimits{.rows = 5,
                                     .pages = 20,
                                     .page_tokens = 4,
                                     .step_tokens = 32,
                                     .context = 16,
                                     .vocabulary = kChoiceVocabulary};

constexpr std::int32_t kChoiceSteps = 5;
constexpr std::int32_t kOutputsOfAll = kChoiceSteps * kChoiceLimits.rows;

/// How the rows of a test are chosen.
struct RowChoices {
  bool by_all = false;     ///< a bias of 0 makes all logits wanted
  bool has_whole = false;  ///< one row wants all in any case
};

std::shared_ptr<const SamplingParams> params_of(std::int32_t row, const RowChoices& how) {
  SamplingParams params;
  params.logprobs = row != 1;
  params.top_logprobs = row == 0 ? 10 : 0;
  params.temperature = row == 0 ? 0 : 1;
  params.top_k = 40;
  if (row == 2) params.typical_p = params.top_p = 0.9F;
  if (row == 3) params.mirostat = {.version = 2, .tau = 3};  // GPUs do it on the host
  if (row == 4) params.top_k = how.has_whole ? 0 : 64;
  if (how.by_all) params.logit_bias = {{0, 0.0F}};
  return std::make_shared<const SamplingParams>(std::move(params));
}

/// Prompts, then four tokens of each row.
StepResult choose_tokens(StepDevice& device, const RowChoices& how) {
  PlanBuilder plan;
  for (std::int32_t row = 0; row < kChoiceLimits.rows; ++row) {
    plan.start(row, params_of(row, how), 2, {}, static_cast<std::uint64_t>(row));
    plan.table(row, 0, {4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3});
    plan.feed(row, 0, {row, 7 * row + 1}).sample();
  }
  StepResult all = plan.run(device);
  for (std::int32_t at = 2; at < 1 + kChoiceSteps; ++at) {
    for (std::int32_t row = 0; row < kChoiceLimits.rows; ++row) plan.feed_last(row, at).sample();
    const StepResult one = plan.run(device);
    const auto tops = static_cast<std::int32_t>(all.top.size());
    all.top.insert(all.top.end(), one.top.begin(), one.top.end());
    for (SampleResult sample : one.samples) {
      sample.first_top += tops;
      all.samples.push_back(sample);
    }
  }
  return all;
}

void expect_alike(const StepResult& got, const StepResult& wanted) {
  ASSERT_EQ(got.samples.size(), std::size_t{kOutputsOfAll});
  for (std::size_t i = 0; i < got.samples.size(); ++i) {
    const SampleResult& own = got.samples[i];
    const SampleResult& other = wanted.samples[i];
    EXPECT_EQ(own.token, other.token) << i;
    EXPECT_NEAR(own.logprob, other.logprob, 2e-6) << i;
    ASSERT_EQ(own.top_count, other.top_count) << i;
    const auto tops = static_cast<std::size_t>(own.top_count);
    for (std::size_t place = 0; place < tops; ++place) {
      const TokenLogprob& a = got.top[static_cast<std::size_t>(own.first_top) + place];
      const TokenLogprob& b = wanted.top[static_cast<std::size_t>(other.first_top) + place];
      EXPECT_EQ(a.token, b.token) << i;
      EXPECT_NEAR(a.logprob, b.logprob, 2e-6) << i;
    }
  }
  EXPECT_EQ(got.samples.front().top_count, 10);
}

class RankChoicesTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override { WEFT_SKIP_WITHOUT_GPU(GetParam()); }

  const RandomLlama llama_{{.vocabulary = kChoiceVocabulary}, 3};
};

TEST_P(RankChoicesTest, AreThoseByAllLogits) {
  const auto device = GetParam().load_steps(llama_.checkpoint(), llama_.program(), kChoiceLimits);
  for (const bool has_whole : {false, true}) {
    SCOPED_TRACE(has_whole ? "one row wants all" : "no row wants all");
    expect_alike(choose_tokens(*device, {.has_whole = has_whole}),
                 choose_tokens(*device, {.by_all = true, .has_whole = has_whole}));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , RankChoicesTest,
    testing::Values(ranks_kind("host_tp2", "cpu,cpu"), ranks_kind("host_tp3", "cpu,cpu,cpu"),
                    ranks_kind("host_then_host_tp2", "cpu | cpu,cpu"),
                    fake_gpu_ranks_kind("fake_gpu_tp3", "cuda:0,cuda:1,cuda:2"),
                    fake_gpu_ranks_kind("host_then_fake_gpu_tp2", "cpu | cuda:0,cuda:1"),
                    gpu_ranks_kind("gpu_tp2", "cuda:0,cuda:1")),
    kind_name);

/// Two fake GPUs that share the layers of a model of so many tokens.
class ToldLogitsTest : public testing::Test {
 protected:
  std::unique_ptr<StepRanks> load(std::int32_t vocabulary) {
    const RandomLlama llama{{.vocabulary = vocabulary}, 3};
    DeviceLimits limits = kChoiceLimits;
    limits.vocabulary = vocabulary;
    const OpenedModel model = opened(llama.checkpoint(), llama.program());
    const DeviceOptions options = step_options(*llama.program(), limits, DType::kF32, 1);
    GpuRanks ranks =
        fake_gpu_ranks(model, parse_partition("cuda:0,cuda:1").value(), options, gpus_);
    auto devices = load_gpu_step_ranks(model, std::move(ranks), limits, options, {}, {}).value();
    DeviceRanks all;
    for (auto& device : devices) all.push_back(std::move(device));
    return std::make_unique<StepRanks>(std::move(all));
  }

  /// Numbers that the second GPU gives the first.
  std::int64_t given_by(StepRanks& device, const RowChoices& how) {
    gpus_[1]->given = 0;
    static_cast<void>(choose_tokens(device, how));
    return gpus_[1]->given;
  }

  const std::vector<std::shared_ptr<FakeGpu>> gpus_{std::make_shared<FakeGpu>(),
                                                    std::make_shared<FakeGpu>()};
};

TEST_F(ToldLogitsTest, CrossTheLinkInPlaceOfAllWhereTheyAreEnoughForEveryRow) {
  const auto device = load(kChoiceVocabulary);
  EXPECT_EQ(given_by(*device, {}), kOutputsOfAll * cuda::kToldFloats);
  EXPECT_EQ(given_by(*device, {.has_whole = true}), kOutputsOfAll * kChoiceVocabulary / 2);
  EXPECT_EQ(given_by(*device, {}), kOutputsOfAll * cuda::kToldFloats);
}

TEST_F(ToldLogitsTest, AreAllLogitsWherePartsAreShort) {
  const auto short_part = static_cast<std::int32_t>(cuda::kToldFloats);
  const auto device = load(2 * short_part);
  EXPECT_EQ(given_by(*device, {}), kOutputsOfAll * short_part);
  EXPECT_EQ(gpus_[1]->told, 0);
}

}  // namespace
}  // namespace weft::test
