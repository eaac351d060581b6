// Ranks on fake GPUs: what each call's failure becomes, and steps of several plans at once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/mixed_ranks.h"
#include "weft/gpu/ranks/rank_threads.h"
#include "weft/gpu/step_options.h"
#include "weft/kernels/sample/tell_part_cuda.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

using cuda::CudaStepDevice;
using testing::AnyOf;
using testing::HasSubstr;
using Gpus = std::vector<std::shared_ptr<FakeGpu>>;

/// Converts ranks of any kind to DeviceRanks.
Result<DeviceRanks> as_ranks(Result<std::vector<std::unique_ptr<CudaStepDevice>>> devices) {
  if (!devices) return devices.error();
  return DeviceRanks(std::make_move_iterator(devices->begin()),
                     std::make_move_iterator(devices->end()));
}

DeviceLimits few_limits() {
  return {.rows = 3,
          .pages = 16,
          .page_tokens = 4,
          .step_tokens = 16,
          .context = 32,
          .vocabulary = LlamaShape{}.vocabulary};
}

class GpuRanksTest : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static Gpus gpus() {
    Gpus all(numbers().size());
    for (auto& gpu : all) gpu = std::make_shared<FakeGpu>();
    return all;
  }

  /// Returns the indices of the ranks that are GPUs.
  [[nodiscard]] static std::vector<std::size_t> numbers() {
    std::vector<std::size_t> gpus;
    std::size_t rank = 0;
    for (const Partition::Stage& stage : parse_partition(GetParam()).value().stages) {
      for (std::size_t i = 0; i < stage.devices.size(); ++i, ++rank) {
        if (!stage.is_on_host()) gpus.push_back(rank);
      }
    }
    return gpus;
  }

  [[nodiscard]] Result<DeviceRanks> load(const Gpus& gpus) const { return load(gpus, limits_); }
  [[nodiscard]] Result<DeviceRanks> load(const Gpus& gpus, const DeviceLimits& limits) const {
    const Partition partition = parse_partition(GetParam()).value();
    const OpenedModel model = opened(llama_.checkpoint(), llama_.program());
    const auto options = step_options(*llama_.program(), limits, DType::kF32, 1);
    GpuRanks ranks = fake_gpu_ranks(model, partition, options, gpus);
    if (devices_of(partition).value() == RankDevices::kGpus) {
      return as_ranks(load_gpu_step_ranks(model, std::move(ranks), limits, options, {}, {}));
    }
    auto mixed = plan_mixed_ranks(model, partition, compile_parts(model, partition).value(),
                                  std::move(ranks), options);
    return load_mixed_step_ranks(model, std::move(mixed).value(), limits, {}, {});
  }

  /// Runs the plans on all ranks and returns each rank's error; "": it ran them all. A rank that
  /// fails abandons the others, as an executor does.
  [[nodiscard]] static std::vector<std::string> run(const DeviceRanks& ranks,
                                                    const std::vector<Plan>& plans) {
    std::vector<std::string> said(ranks.size());
    RankThreads(ranks.size()).run([&](std::size_t rank) {
      StepResult result;
      try {
        for (const Plan& plan : plans) {
          result.clear();
          ranks[rank]->run(plan, result);
        }
      } catch (const ActorFailure& failure) {
        EXPECT_EQ(failure.kind(), ExitKind::kDeviceLost);
        said[rank] = failure.what();
        ranks[rank]->abandon();
      }
    });
    return said;
  }

  RandomLlama llama_{LlamaShape{}, 11};
  const DeviceLimits limits_ = few_limits();
};

TEST_P(GpuRanksTest, LoadingTellsWhatFailedAndGivesAllBackWhicheverCallItIs) {
  const Gpus whole = gpus();
  ASSERT_TRUE(load(whole));
  constexpr std::int64_t kEach = 5;  // of hundreds of calls
  for (std::size_t rank = 0; rank < whole.size(); ++rank) {
    EXPECT_EQ(whole[rank]->taken, 0U);
    // The calls of the devices' destruction are not checked.
    const std::int64_t calls = whole[rank]->calls - 10;
    ASSERT_GT(calls, 50);
    for (std::int64_t n = static_cast<std::int64_t>(rank); n < calls; n += kEach) {
      const Gpus all = gpus();
      all[rank]->fail_at = n;
      const auto loaded = load(all);
      ASSERT_FALSE(loaded) << "rank " << rank << ", call " << n;
      EXPECT_EQ(loaded.error().code, DeviceErrc::kDriver);
      EXPECT_NE(loaded.error().detail.find("fake error"), std::string::npos)
          << loaded.error().detail;
      for (const auto& gpu : all) EXPECT_EQ(gpu->taken, 0U) << "rank " << rank << ", call " << n;
    }
  }
}

TEST_P(GpuRanksTest, ACallThatFailsEndsTheStepsOfAll) {
  const std::vector<Plan> plans = {plan_of_everything(), plan_after_everything(),
                                   plan_after_everything()};
  for (std::size_t gpu = 0; gpu < numbers().size(); ++gpu) {
    bool reached_the_end = false;
    for (std::int64_t n = 0; !reached_the_end; ++n) {
      ASSERT_LT(n, 3000);
      const Gpus all = gpus();
      const DeviceRanks ranks = load(all).value();
      all[gpu]->fail_at = all[gpu]->calls + n;
      const std::vector<std::string> said = run(ranks, plans);
      reached_the_end = all[gpu]->calls <= all[gpu]->fail_at;
      EXPECT_EQ(said[numbers()[gpu]].empty(), reached_the_end) << "GPU " << gpu << ", call " << n;
    }
  }
}

TEST_P(GpuRanksTest, OneThatIsAbandonedWaitsForNobody) {
  const Gpus all = gpus();
  const DeviceRanks ranks = load(all).value();
  ranks.front()->abandon();
  for (const std::string& said : run(ranks, {plan_of_everything()})) {
    EXPECT_THAT(said, AnyOf(HasSubstr("fake error"), HasSubstr("another rank of the model")));
  }
}

TEST_P(GpuRanksTest, PlansThatAreUnderWayAtOnceGiveWhatOneAfterTheOtherGives) {
  // Two sequences take turns, so that each is fed what was chosen two plans before.
  std::vector<Plan> plans;
  for (std::int32_t step = 0; step < 8; ++step) {
    for (std::int32_t row = 0; row < 2; ++row) {
      PlanBuilder plan;
      if (step == 0) {
        plan.start(row, greedy(), 6)
            .table(row, 0, {4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3});
        plan.feed(row, 0, row == 0 ? full_prompt : Tokens{8, 2, 30, 7, 7, 1});
      } else {
        plan.feed_last(row, 5 + step);
      }
      plans.push_back(plan.sample().plan());
    }
  }
  const auto alone = fake_gpu_kind().load_steps(llama_.checkpoint(), llama_.program(), limits_);
  std::vector<TokenId> wanted;
  StepResult result;
  for (const Plan& plan : plans) {
    result.clear();
    alone->run(plan, result);
    wanted.push_back(result.samples.front().token);
  }

  DeviceLimits limits = limits_;
  limits.stages = 2;
  const DeviceRanks ranks = load(gpus(), limits).value();
  std::vector<TokenId> got;
  RankThreads(ranks.size()).run([&](std::size_t rank) {
    StepResult own;
    for (const Plan& plan : plans) {
      own.clear();
      ranks[rank]->run(plan, own);
      if (ranks[rank]->samples()) got.push_back(own.samples.front().token);
    }
  });
  EXPECT_EQ(got, wanted);
}

std::string cut_name(const testing::TestParamInfo<const char*>& info) {
  return std::vector<std::string>{"tp2",           "pp2",           "tp2pp2",
                                  "gpu_then_host", "host_then_gpu", "tp2_then_host"}[info.index];
}

INSTANTIATE_TEST_SUITE_P(, GpuRanksTest,
                         testing::Values("cuda:0,cuda:1", "cuda:0 | cuda:1",
                                         "cuda:0,cuda:1 | cuda:2,cuda:3", "cuda:0 | cpu",
                                         "cpu | cuda:0", "cuda:0,cuda:1 | cpu"),
                         cut_name);

/// On two GPUs.
class RealGpuRanksTest : public GpuRanksTest {
 protected:
  void SetUp() override {
    if (gpu_count() < 2) GTEST_SKIP() << "two GPUs are not here";
  }
};

TEST_P(RealGpuRanksTest, OneThatIsLostEndsTheStepThatTheOtherWaitsIn) {
  const Partition partition = parse_partition(GetParam()).value();
  const OpenedModel model = opened(llama_.checkpoint(), llama_.program());
  const auto options = step_options(*llama_.program(), limits_, DType::kF32, 1);
  const DeviceRanks ranks =
      as_ranks(
          load_gpu_step_ranks(
              model,
              open_gpu_ranks(model, partition, compile_parts(model, partition).value(), {}).value(),
              limits_, options, {}, {}))
          .value();
  EXPECT_EQ(run(ranks, {plan_of_everything(), plan_after_everything()}),
            std::vector<std::string>(2));
  std::string said;
  RankThreads(2).run([&](std::size_t rank) {
    if (rank == 1) {
      // Meanwhile the other waits for it.
      EXPECT_TRUE(measure_read_bandwidth("cuda:1"));
      return ranks[rank]->abandon();
    }
    StepResult result;
    try {
      for (int i = 0; i < 10; ++i) {
        result.clear();
        ranks[rank]->run(plan_after_everything(), result);
      }
    } catch (const ActorFailure& failure) {
      EXPECT_EQ(failure.kind(), ExitKind::kDeviceLost);
      said = failure.what();
    }
  });
  EXPECT_NE(said.find("another rank of the model was lost"), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(, RealGpuRanksTest, testing::Values("cuda:0,cuda:1", "cuda:0 | cuda:1"),
                         cut_name);

/// The golden models have two layers, and fewer tokens than ranks need to tell of the greatest
/// logits alone.
class FourRanksTest : public testing::TestWithParam<DeviceKind> {};

TEST_P(FourRanksTest, ChooseWhatTheHostChooses) {
  WEFT_SKIP_WITHOUT_GPU(GetParam());
  const RandomLlama llama({.layers = 5, .vocabulary = 4 * cuda::kToldFloats}, 11);
  DeviceLimits limits = few_limits();
  limits.vocabulary = llama.program()->vocabulary;
  const auto tokens_of = [&](const DeviceKind& kind) {
    const auto device = kind.load_steps(llama.checkpoint(), llama.program(), limits);
    std::vector<TokenId> tokens;
    StepResult result;
    for (std::int32_t step = 0; step < 6; ++step) {
      PlanBuilder plan;
      if (step == 0) {
        plan.start(0, greedy(), 6).table(0, 0, {4, 1, 2, 3}).feed(0, 0, full_prompt);
      } else {
        plan.feed_last(0, 5 + step);
      }
      result.clear();
      device->run(plan.sample().plan(), result);
      tokens.push_back(result.samples.front().token);
    }
    return tokens;
  };
  EXPECT_EQ(tokens_of(GetParam()), tokens_of(host_kind()));
}

INSTANTIATE_TEST_SUITE_P(
    , FourRanksTest,
    testing::Values(ranks_kind("host_pp4", "cpu | cpu | cpu | cpu"),
                    fake_gpu_ranks_kind("fake_gpu_pp4", "cuda:0 | cuda:1 | cuda:2 | cuda:3"),
                    fake_gpu_ranks_kind("fake_gpu_tp2pp2", "cuda:0,cuda:1 | cuda:2,cuda:3"),
                    gpu_ranks_kind("gpu_pp4", "cuda:0 | cuda:1 | cuda:2 | cuda:3"),
                    gpu_ranks_kind("gpu_tp2pp2", "cuda:0,cuda:1 | cuda:2,cuda:3")),
    [](const auto& kind) { return kind.param.name; });

TEST(GpuRanksCapacity, IsTheLeastThatFitsOnAnyGpu) {
  const RandomLlama llama{LlamaShape{}, 11};
  const OpenedModel model = opened(llama.checkpoint(), llama.program());
  const Partition partition = parse_partition("cuda:0,cuda:1").value();
  const GpuRanks ranks = fake_gpu_ranks(model, partition, {},
                                        {std::make_shared<FakeGpu>(), std::make_shared<FakeGpu>()});
  CapacityWishes wishes;
  wishes.rows = 8;
  wishes.memory_fraction = 1;
  constexpr std::int64_t kMuch = std::int64_t{4} << 30U;
  const DeviceLimits both = gpu_ranks_capacity(ranks, wishes, {kMuch, kMuch}).value();
  EXPECT_EQ(both.pages, 8 * 16);
  EXPECT_EQ(both.stages, 1);
  // As much as both take, but for a few pages.
  std::int64_t low = 0;
  std::int64_t high = kMuch;
  while (low + 1 < high) {
    const std::int64_t middle = (low + high) / 2;
    (gpu_ranks_capacity(ranks, wishes, {kMuch, middle}) ? high : low) = middle;
  }
  const DeviceLimits less = gpu_ranks_capacity(ranks, wishes, {kMuch, high}).value();
  EXPECT_LT(less.pages, both.pages);
  EXPECT_THAT(gpu_ranks_capacity(ranks, wishes, {kMuch, low}),
              FailsWith(DeviceErrc::kOutOfMemory, "rank 1: "));
}

}  // namespace
}  // namespace weft::test
