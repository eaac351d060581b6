#include "weft/gpu/drafting/host_drafts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/gpu/drafting/model_drafter.h"
#include "weft/gpu/host/host_capacity.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

constexpr std::int64_t kPlentyForBoth = std::int64_t{1} << 32;

class HostDraftsTest : public testing::Test {
 protected:
  RandomLlama model_{LlamaShape{.layers = 4}, 1};
  RandomLlama draft_{LlamaShape{.layers = 1, .hidden = 32}, 2};
};

TEST_F(HostDraftsTest, RefusesModelsThatCannotDraftOrBeDraftedFor) {
  EXPECT_TRUE(check_draft(*draft_.program(), *model_.program()));
  const auto refusal = [&](const std::function<void(Program & draft, Program & model)>& change) {
    Program draft = *draft_.program();
    Program model = *model_.program();
    change(draft, model);
    return check_draft(draft, model);
  };
  EXPECT_THAT(refusal([](Program& draft, Program&) { draft.has_encoder = true; }),
              FailsWith(DeviceErrc::kUnfit, "speculation.model: a model with an encoder"));
  EXPECT_THAT(refusal([](Program& draft, Program&) { draft.causal = false; }),
              FailsWith(DeviceErrc::kUnfit, "speculation.model: the model generates no text"));
  EXPECT_THAT(refusal([](Program&, Program& model) { model.has_encoder = true; }),
              FailsWith(DeviceErrc::kUnfit, "model.path has an encoder"));
  EXPECT_THAT(refusal([](Program&, Program& model) { model.causal = false; }),
              FailsWith(DeviceErrc::kUnfit, "model.path generates no text"));
  EXPECT_THAT(refusal([](Program&, Program& model) { model.window = 64; }),
              FailsWith(DeviceErrc::kUnfit, "at most 64 tokens"));
}

TEST_F(HostDraftsTest, ItsMemoryCountsAsTheModels) {
  CapacityWishes wishes{.rows = 4, .step_tokens = 64};
  wishes.guesses = 4;
  const DeviceNeeds plain = host_needs(*model_.program(), wishes);
  const DeviceNeeds both = with_draft(plain, *draft_.program(), DType::kF32, 16, 2);
  const std::int64_t weights = HostWeights::bytes(*draft_.program());
  EXPECT_GT(weights, 0);
  EXPECT_EQ(both.weight_bytes, plain.weight_bytes + weights);
  DeviceLimits limits = device_capacity(*model_.program(), wishes, kPlentyForBoth, both).value();
  const DeviceOptions options =
      ModelDrafter::options_for(*draft_.program(), limits, DType::kF32, 1);
  EXPECT_EQ(both.bytes(limits) - plain.bytes(limits),
            weights + 2 * (HostDevice::memory_bytes(*draft_.program(), options) +
                           ModelDrafter::bytes(limits)));
  const std::int64_t before = both.bytes(limits);
  const std::int64_t bookkeeping = ModelDrafter::bytes(limits);
  ++limits.pages;
  EXPECT_EQ(both.bytes(limits) - before,
            both.page_bytes + 2 * (ModelDrafter::bytes(limits) - bookkeeping));
}

TEST_F(HostDraftsTest, FewerPagesFitBesideADraftModel) {
  CapacityWishes wishes{.rows = 4, .step_tokens = 64};
  wishes.memory_bytes = host_needs(*model_.program(), wishes).weight_bytes + (1 << 20);
  const DeviceNeeds plain = host_needs(*model_.program(), wishes);
  const DeviceNeeds both = with_draft(plain, *draft_.program(), DType::kF32, 16, 1);
  const DeviceLimits alone =
      device_capacity(*model_.program(), wishes, kPlentyForBoth, plain).value();
  const DeviceLimits beside =
      device_capacity(*model_.program(), wishes, kPlentyForBoth, both).value();
  EXPECT_LT(beside.pages, alone.pages);
  EXPECT_LE(both.bytes(beside), wishes.memory_bytes);
}

TEST_F(HostDraftsTest, ReplicasShareTheWeightsOfTheDraftModel) {
  DeviceWishes wishes;
  wishes.draft = std::make_shared<const OpenedModel>(draft_.opened());
  const DeviceLimits limits{.rows = 2,
                            .pages = 8,
                            .step_tokens = 16,
                            .context = 64,
                            .vocabulary = LlamaShape{}.vocabulary,
                            .guesses = 4,
                            .draft_context = 64};
  HostDrafters drafters(wishes, DType::kF32, 1);
  int loads = 0;
  const auto count = LoadProgress([&](std::int64_t /*done*/, std::int64_t /*all*/) { ++loads; });
  for (int replica = 0; replica < 2; ++replica) {
    const auto made = drafters.make(limits, count);
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_NE(dynamic_cast<const ModelDrafter*>(made->get()), nullptr);
    if (replica == 0) loads = 0;
  }
  EXPECT_EQ(loads, 0);
  DeviceLimits none = limits;
  none.guesses = 0;
  EXPECT_EQ(drafters.make(none, {}).value(), nullptr);
}

/// Both draw by the same numbers, from the same logits.
TEST_F(HostDraftsTest, AModelThatDraftsForItselfIsAlwaysRightWhereTokensAreDrawn) {
  constexpr std::int32_t kDrafts = 4;
  const DeviceLimits limits{.rows = 1,
                            .pages = 4,
                            .page_tokens = 16,
                            .step_tokens = 16,
                            .context = 64,
                            .vocabulary = LlamaShape{}.vocabulary,
                            .guesses = kDrafts,
                            .draft_context = 64};
  HostStepDevice device(HostDevice::load(model_.checkpoint(), model_.program(),
                                         step_options(*model_.program(), limits, DType::kF32, 1))
                            .value(),
                        limits, {});
  DeviceWishes wishes;
  wishes.draft = std::make_shared<const OpenedModel>(model_.opened());
  wishes.looks_up = false;
  HostDrafters drafters(wishes, DType::kF32, 1);
  device.use(drafters.make(limits, {}).value());
  const auto drawn = std::make_shared<const SamplingParams>(
      SamplingParams{.temperature = 1.3F, .top_k = 40, .top_p = 0.95F, .min_p = 0.01F});
  PlanBuilder plan;
  plan.start(0, drawn, 3, {}, 7).table(0, 0, {0, 1, 2, 3}).feed(0, 0, {3, 17, 42}).sample();
  plan.run(device);
  for (std::int32_t start = 3; start < 40; start += 1 + kDrafts) {
    plan.feed_guesses(0, start, kDrafts).sample();
    plan.plan().entries.back().drafts = kDrafts;
    const StepResult result = plan.run(device);
    ASSERT_EQ(result.samples.front().guessed, kDrafts);
    ASSERT_EQ(result.samples.size(), 1U + kDrafts) << "from " << start;
  }
}

}  // namespace
}  // namespace weft::test
