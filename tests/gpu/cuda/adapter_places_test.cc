// Adapters in the places of a GPU: plans put them there beside steps, and rows use them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/adapter_pairs.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/step_options.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/random_llama.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const DeviceLimits place_limits{.rows = 3,
                                .pages = 16,
                                .page_tokens = 4,
                                .step_tokens = 16,
                                .context = 32,
                                .vocabulary = LlamaShape{}.vocabulary,
                                .adapter_places = 2,
                                .adapter_rank = 20};

Adapter adapter_for(const Checkpoint& base, std::int64_t rank, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Adapter adapter;
  adapter.hash[0] = static_cast<std::byte>(seed);
  for (const CheckpointTensor& tensor : base.tensors()) {
    if (tensor.shape.size() != 2 || tensor.name.find("layers.") == std::string::npos) continue;
    AdapterTarget& target = adapter.targets.emplace_back();
    target.tensor = tensor.name;
    target.outputs = tensor.shape[0];
    target.inputs = tensor.shape[1];
    target.rank = rank;
    target.a.resize(static_cast<std::size_t>(rank * target.inputs));
    target.b.resize(static_cast<std::size_t>(rank * target.outputs));
    for (float& number : target.a) number = 0.1F * normal(random);
    for (float& number : target.b) number = 0.1F * normal(random);
  }
  return adapter;
}

class AdapterPlacesOfAGpuTest : public testing::Test {
 protected:
  std::unique_ptr<cuda::CudaStepDevice> load_gpu() {
    return load_gpu_steps(std::make_unique<FakeRuntime>(gpu_), llama_.checkpoint(),
                          llama_.program(), place_limits)
        .value();
  }

  [[nodiscard]] std::shared_ptr<const PreparedAdapter> prepare(const StepDevice& device,
                                                               std::int64_t rank,
                                                               std::uint32_t seed) const {
    const Adapter adapter = adapter_for(*llama_.checkpoint(), rank, seed);
    auto own = device.prepare_adapter(adapter).value();
    return std::make_shared<PreparedAdapter>(
        PreparedAdapter{adapter_id(adapter), own->bytes(), {std::move(own)}});
  }

  /// Begins a sequence of its own in a row.
  static void begin(PlanBuilder& build, std::int32_t row, const AdapterId& adapter) {
    build.start(row, greedy(), 3).table(row, 0, {2 * row, 2 * row + 1});
    build.plan().starts.back().traits.kv.adapter = adapter;
    build.feed(row, 0, {3, 17, 42}).sample();
  }

  const RandomLlama llama_{LlamaShape{.weights = DType::kF32}, 5};
  std::shared_ptr<FakeGpu> gpu_ = std::make_shared<FakeGpu>();
};

/// The chosen tokens and their probabilities, of a prompt and three steps behind it.
std::vector<SampleResult> generate(StepDevice& device, PlanBuilder& build) {
  std::vector<SampleResult> all;
  for (std::int32_t step = 0; step < 4; ++step) {
    if (step > 0) {
      for (std::int32_t row = 0; row < 3; ++row) build.feed_last(row, 2 + step).sample();
    }
    const StepResult result = build.run(device);
    all.insert(all.end(), result.samples.begin(), result.samples.end());
  }
  return all;
}

/// By how much the probabilities of two of the three rows differ most.
float greatest_difference(const std::vector<SampleResult>& results, std::size_t row,
                          std::size_t other) {
  float greatest = 0;
  for (std::size_t step = 0; step < results.size(); step += 3) {
    greatest =
        std::max(greatest, std::abs(results[step + row].logprob - results[step + other].logprob));
  }
  return greatest;
}

TEST_F(AdapterPlacesOfAGpuTest, RowsOfOneStepHaveTheirOwnAdaptersOrNone) {
  const auto host = [&] {
    auto device = HostDevice::load(llama_.checkpoint(), llama_.program(),
                                   step_options(*llama_.program(), place_limits, DType::kF32, 1))
                      .value();
    return std::make_unique<HostStepDevice>(std::move(device), place_limits,
                                            std::vector<TokenId>());
  }();
  const auto gpu = load_gpu();
  std::vector<std::vector<SampleResult>> results;
  for (StepDevice* device :
       {static_cast<StepDevice*>(host.get()), static_cast<StepDevice*>(gpu.get())}) {
    const auto one = prepare(*device, 5, 1);
    const auto other = prepare(*device, 20, 2);
    PlanBuilder build;
    build.plan().adapters.push_back({1, one});
    build.plan().adapters.push_back({0, other});
    EXPECT_THAT(build.run(*device).adapters, UnorderedElementsAre(0, 1));
    begin(build, 0, one->id);
    begin(build, 1, {});
    begin(build, 2, other->id);
    results.push_back(generate(*device, build));
  }
  EXPECT_GT(gpu_->graphs, 0);
  ASSERT_EQ(results[0].size(), 12U);
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_EQ(results[1][i].token, results[0][i].token);
    EXPECT_NEAR(results[1][i].logprob, results[0][i].logprob, 1e-2);
  }
  EXPECT_GT(greatest_difference(results[0], 0, 1), 0.05F) << "an adapter against none";
  EXPECT_GT(greatest_difference(results[0], 0, 2), 0.05F) << "one adapter against the other";
}

TEST_F(AdapterPlacesOfAGpuTest, AStepDoesNotWaitForACopyBesideIt) {
  const auto device = load_gpu();
  gpu_->late_copies = true;
  PlanBuilder build;
  build.plan().adapters.push_back({1, prepare(*device, 5, 1)});
  begin(build, 0, {});
  EXPECT_THAT(build.run(*device).adapters, IsEmpty());
  build.feed_last(0, 3).sample();
  EXPECT_THAT(build.run(*device).adapters, IsEmpty());
  // A plan without entries waits.
  EXPECT_THAT(build.run(*device).adapters, ElementsAre(1));
  build.feed_last(0, 4).sample();
  EXPECT_THAT(build.run(*device).adapters, IsEmpty());
}

TEST_F(AdapterPlacesOfAGpuTest, AStepWaitsForTheAdapterThatItUses) {
  const auto probability = [&](bool late) {
    const auto device = load_gpu();
    gpu_->late_copies = late;
    const auto adapter = prepare(*device, 5, 1);
    PlanBuilder build;
    build.plan().adapters.push_back({0, adapter});
    begin(build, 0, {});
    EXPECT_THAT(build.run(*device).adapters.empty(), late);
    begin(build, 1, adapter->id);
    const float logprob = build.run(*device).samples[0].logprob;
    gpu_->late_copies = false;
    return logprob;
  };
  EXPECT_EQ(probability(true), probability(false));
}

TEST_F(AdapterPlacesOfAGpuTest, APlaceTakesAnotherAdapter) {
  const auto device = load_gpu();
  PlanBuilder build;
  std::vector<float> logprobs;
  for (const std::uint32_t seed : {1U, 2U, 1U}) {
    const auto adapter = prepare(*device, 5, seed);
    build.plan().adapters.push_back({0, adapter});
    EXPECT_THAT(build.run(*device).adapters, ElementsAre(0));
    begin(build, 0, adapter->id);
    logprobs.push_back(build.run(*device).samples[0].logprob);
  }
  EXPECT_NE(logprobs[0], logprobs[1]);
  EXPECT_EQ(logprobs[0], logprobs[2]);
}

TEST_F(AdapterPlacesOfAGpuTest, AnAdapterGoesWhileItsCopyIsUnderWay) {
  const auto device = load_gpu();
  gpu_->late_copies = true;
  PlanBuilder build;
  std::weak_ptr<const PreparedAdapter> left;
  {
    auto adapter = prepare(*device, 5, 1);
    left = adapter;
    build.plan().adapters.push_back({1, std::move(adapter)});
  }
  begin(build, 0, {});
  build.run(*device);
  EXPECT_FALSE(left.expired());
  build.run(*device);
  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace weft::test
