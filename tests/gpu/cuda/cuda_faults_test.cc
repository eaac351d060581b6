// Any call to CUDA may fail: each fails once here, on a fake GPU.

#include <gtest/gtest.h>

#include <boost/system/system_error.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"
#include "weft/sampling/token_constraint.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

const DeviceLimits limits{.rows = 3,
                          .pages = 16,
                          .page_tokens = 4,
                          .step_tokens = 16,
                          .context = 32,
                          .vocabulary = LlamaShape{}.vocabulary};

/// Allows the first 32 tokens.
class FirstTokensState final : public ConstraintState {
 public:
  void advance(std::span<const TokenId> /*tokens*/) noexcept override {}
  bool roll_back(std::size_t /*tokens*/) noexcept override { return true; }
  AllowedTokens allowed() noexcept override { return {.bits = {&kBits, 1}, .count = 32}; }
  std::unique_ptr<ConstraintState> clone() const override {
    return std::make_unique<FirstTokensState>();
  }

 private:
  static constexpr std::uint32_t kBits = ~0U;
};

class FirstTokens final : public TokenConstraint {
 public:
  std::unique_ptr<ConstraintState> begin() const override {
    return std::make_unique<FirstTokensState>();
  }
};

/// With a row that masks are uploaded for, and its fork.
Plan constrained_plan_of_everything() {
  Plan plan = plan_of_everything();
  SamplingParams params = *plan.starts.front().sampling;
  params.constraint = std::make_shared<FirstTokens>();
  plan.starts.front().sampling = std::make_shared<const SamplingParams>(std::move(params));
  return plan;
}

class CudaFaultsTest : public testing::Test {
 public:
  [[nodiscard]] Result<std::unique_ptr<cuda::CudaStepDevice>> make(
      const std::shared_ptr<FakeGpu>& gpu) const {
    return load_gpu_steps(std::make_unique<FakeRuntime>(gpu), llama_.checkpoint(), llama_.program(),
                          limits);
  }

  static StepResult run(StepDevice& device, const Plan& plan) {
    StepResult result;
    device.run(plan, result);
    return result;
  }
  StepResult first_step(StepDevice& device) const {
    return run(device, constrained_plan_of_everything());
  }
  StepResult second_step(StepDevice& device) const { return run(device, plan_after_everything()); }

 private:
  RandomLlama llama_{LlamaShape{}, 11};
};

TEST_F(CudaFaultsTest, LoadingGivesBackAllThatItTookWhicheverCallFails) {
  const auto whole = std::make_shared<FakeGpu>();
  ASSERT_TRUE(make(whole));
  ASSERT_EQ(whole->taken, 0U);
  std::int64_t calls = 0;  // the last ones are made when the device goes away
  {
    const auto gpu = std::make_shared<FakeGpu>();
    const auto device = make(gpu);
    calls = gpu->calls;
  }
  ASSERT_GT(calls, 50);
  for (std::int64_t n = 0; n < calls; ++n) {
    const auto gpu = std::make_shared<FakeGpu>();
    gpu->fail_at = n;
    const auto device = make(gpu);
    ASSERT_FALSE(device) << "call " << n;
    EXPECT_EQ(device.error().code, DeviceErrc::kDriver) << "call " << n;
    EXPECT_EQ(gpu->taken, 0U) << "call " << n;
  }
}

TEST_F(CudaFaultsTest, ADeviceThatIsTooSmallIsToldWithTheCallThatAsked) {
  const auto gpu = std::make_shared<FakeGpu>();
  gpu->memory = 1000;
  const auto device = make(gpu);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, DeviceErrc::kOutOfMemory);
  EXPECT_NE(device.error().detail.find("taking the device's memory"), std::string::npos);
}

TEST_F(CudaFaultsTest, ALostContextIsToldWhicheverCallOfAStepFails) {
  for (const auto& step : {&CudaFaultsTest::first_step, &CudaFaultsTest::second_step}) {
    bool reached_the_end = false;
    for (std::int64_t n = 0; !reached_the_end; ++n) {
      ASSERT_LT(n, 1000);
      const auto gpu = std::make_shared<FakeGpu>();
      const auto device = make(gpu).value();
      if (step == &CudaFaultsTest::second_step) first_step(*device);
      const std::int64_t before = gpu->calls;
      gpu->fail_at = before + n;
      try {
        (this->*step)(*device);
        reached_the_end = gpu->calls <= gpu->fail_at;
        EXPECT_TRUE(reached_the_end) << "call " << n << " failed and nobody said so";
      } catch (const ActorFailure& failure) {
        EXPECT_EQ(failure.kind(), ExitKind::kDeviceLost) << "call " << n;
      }
    }
  }
}

TEST_F(CudaFaultsTest, AFailureThatPassesLosesItsStepAlone) {
  const auto whole = std::make_shared<FakeGpu>();
  const auto sound = make(whole).value();
  const std::int64_t before = whole->calls;
  const TokenId wanted = first_step(*sound).samples.front().token;
  const std::int64_t calls = whole->calls - before;
  for (std::int64_t n = 0; n < calls; ++n) {
    const auto gpu = std::make_shared<FakeGpu>();
    gpu->sticky = false;
    gpu->failure = cuda::kOutOfMemory;
    const auto device = make(gpu).value();
    gpu->fail_at = gpu->calls + n;
    try {
      first_step(*device);
      ADD_FAILURE() << "call " << n << " failed and nobody said so";
    } catch (const boost::system::system_error& error) {
      EXPECT_EQ(error.code(), DeviceErrc::kOutOfMemory) << "call " << n;
    }
    // The sequences begin again, on the same device.
    EXPECT_EQ(first_step(*device).samples.front().token, wanted) << "after call " << n;
  }
}

TEST(CudaDeviceTest, ALayerThatDecodesIsEightLaunches) {
  const auto launches_of = [](std::int64_t layers) {
    const RandomLlama llama({.layers = layers}, 3);
    const auto gpu = std::make_shared<FakeGpu>();
    const auto options = step_options(*llama.program(), limits, DType::kBF16, 1);
    const auto device = cuda::CudaDevice::load(std::make_unique<FakeRuntime>(gpu),
                                               llama.checkpoint(), llama.program(), options, {})
                            .value();
    device->writer().begin();
    device->writer().upload(device->stream(), 1, 1, false);
    const std::int64_t before = gpu->launches;
    device->launch(device->program().decode, {1, 1, true, false});
    return gpu->launches - before;
  };
  EXPECT_EQ(launches_of(3) - launches_of(2), 8);
}

TEST_F(CudaFaultsTest, AStepThatNeverEndsIsLeftOnceItsStreamFails) {
  const auto gpu = std::make_shared<FakeGpu>();
  const auto device = make(gpu).value();
  gpu->work = FakeWork::kPending;
  gpu->fail_at = gpu->calls + 400;  // far behind the last launch: while it waits
  EXPECT_THROW(first_step(*device), ActorFailure);
}

TEST_F(CudaFaultsTest, AStepThatEndedWithoutAWordIsLostAlone) {
  const auto gpu = std::make_shared<FakeGpu>();
  const auto device = make(gpu).value();
  const TokenId wanted = first_step(*device).samples.front().token;
  gpu->work = FakeWork::kLost;
  EXPECT_THROW(first_step(*device), boost::system::system_error);
  gpu->work = FakeWork::kDone;
  EXPECT_EQ(first_step(*device).samples.front().token, wanted);
}

}  // namespace
}  // namespace weft::test
