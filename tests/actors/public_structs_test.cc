// Applications set the fields that they need by their names. With -Wextra a compiler warns of each
// other field that has no initializer of its own, and warnings are errors here: this file compiles
// as long as every struct of the public headers that is made so has them.

#include <gtest/gtest.h>

#include "weft/core/actor/actor_system.h"
#include "weft/gpu/plan.h"
#include "weft/weft.h"

namespace weft {
namespace {

TEST(PublicStructs, CanBeMadeOfSomeOfTheirFields) {
  EXPECT_TRUE(Error{.code = make_error_code(EngineErrc::kStopping)}.detail.empty());
  EXPECT_FALSE(Error{.detail = "why"}.code);
  EXPECT_TRUE(ExitReason{.kind = ExitKind::kDeviceLost}.what.empty());
  EXPECT_EQ(DeviceInfo{.name = "cpu"}.processors, 0);
  EXPECT_EQ(Delta{.choice = 1}.text, "");
  EXPECT_EQ(GeneratedChoice{.text = "a"}.top_per_token, 0);
  EXPECT_EQ(GenerationResult{.reason = FinishReason::kLength}.choices.size(), 0U);
  EXPECT_EQ(StepOutput{.deltas = {}}.id, RequestId());
  EXPECT_EQ(LogitContext{.prompt_tokens = 1}.tokens.size(), 0U);
  EXPECT_EQ(TokenActivations{.position = 1}.logits.size(), 0U);
  EXPECT_EQ(SampleOutcome{.token = 1}.failure, nullptr);
  EXPECT_EQ(SampleResult{.token = 1}.failure, nullptr);
  EXPECT_EQ(PlanStart{.row = 1}.sampling, nullptr);
  EXPECT_TRUE(Plan{.tick = 1}.ids.empty());
  EXPECT_TRUE(StepResult{.swapped = 1}.samples.empty());
  EXPECT_EQ(DeviceLimits{.rows = 1}.pages, 0);
  EXPECT_EQ(TrainingPiece{.loss = 1}.took, Duration{});
  EXPECT_EQ(TrainingDone{.pieces = 1}.took, Duration{});
  EXPECT_EQ(TrainingProgress{.loss = 1}.phase, TrainingPhase::kNew);
  EXPECT_EQ(ModelInfo{.name = "a"}.model, nullptr);
  EXPECT_TRUE(ModelList{.loads_on_demand = true}.models.empty());
}

}  // namespace
}  // namespace weft
