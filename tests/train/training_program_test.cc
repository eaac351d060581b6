#include "weft/train/program/training_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "weft/model/open_model.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/train/program/low_rank_pairs.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<TrainingProgram> training_of(const std::string& golden) {
  const OpenedModel model = open_model(test::committed_golden(golden)).value();
  return make_training_program(*model.architecture, *model.checkpoint);
}

std::string refusal_of(const std::string& golden) {
  const auto training = training_of(golden);
  if (training) return "";
  EXPECT_EQ(training.error().code, TrainErrc::kCannotTrain) << golden;
  return training.error().detail;
}

TEST(TrainingProgramTest, EachLayerIsASegmentWhoseInputIsKept) {
  for (const char* golden : {"llama", "gemma2", "phi", "gpt2"}) {
    const OpenedModel model = open_model(test::committed_golden(golden)).value();
    const auto training = make_training_program(*model.architecture, *model.checkpoint).value();
    ASSERT_EQ(training.layers.size(), 3U) << golden;  // the embedding, and two layers
    EXPECT_EQ(training.layers[0].in, kAbsent);
    for (std::size_t i = 1; i < 3; ++i) {
      EXPECT_EQ(training.layers[i].in, training.layers[i - 1].out) << golden;
      EXPECT_EQ(training.layers[i].begin, training.layers[i - 1].end) << golden;
    }
    EXPECT_EQ(training.layers.back().out, training.program.hidden_states);
    EXPECT_EQ(training.head.end, training.program.decode.ops.size());
  }
}

TEST(TrainingProgramTest, WhatHasNoGradientIsRefusedByItsBlock) {
  EXPECT_THAT(refusal_of("mixtral"), HasSubstr("0.mlp"));
  EXPECT_THAT(refusal_of("bloom"), HasSubstr("0.attention.alibi: has no gradient"));
  EXPECT_THAT(refusal_of("gpt_oss"), HasSubstr("0.attention.sinks: has no gradient"));
  EXPECT_THAT(refusal_of("t5"), HasSubstr("encoder: only decoders are trained"));
  EXPECT_THAT(refusal_of("bert-masked"), HasSubstr("no logits of next tokens"));
  EXPECT_THAT(refusal_of("hunyuan"), HasSubstr("0.attention.qkv: has norms behind its rotation"));
}

std::vector<std::string> modules_of(const std::string& golden, std::set<TargetRole> roles) {
  const OpenedModel model = open_model(test::committed_golden(golden)).value();
  const auto training = make_training_program(*model.architecture, *model.checkpoint).value();
  const auto pairs =
      make_pairs(training, *model.architecture, {.rank = 2, .alpha = 4, .roles = std::move(roles)});
  std::vector<std::string> modules;
  for (const LowRankPair& pair : pairs.value().pairs) modules.push_back(pair.module);
  return modules;
}

TEST(LowRankPairsTest, RolesNameModulesOfEveryFamily) {
  EXPECT_THAT(modules_of("llama", {TargetRole::kQuery, TargetRole::kDown}),
              ElementsAre("model.layers.0.mlp.down_proj", "model.layers.0.self_attn.q_proj",
                          "model.layers.1.mlp.down_proj", "model.layers.1.self_attn.q_proj"));
  EXPECT_THAT(modules_of("gpt2", {TargetRole::kValue}),
              ElementsAre("transformer.h.0.attn.c_attn", "transformer.h.1.attn.c_attn"));
  EXPECT_THAT(modules_of("phi3", {TargetRole::kGate}),
              ElementsAre("model.layers.0.mlp.gate_up_proj", "model.layers.1.mlp.gate_up_proj"));
}

TEST(LowRankPairsTest, NewPairsChangeNothingAndFollowTheSeed) {
  const OpenedModel model = open_model(test::committed_golden("llama")).value();
  const auto training = make_training_program(*model.architecture, *model.checkpoint).value();
  const auto a_of = [&](std::uint64_t seed) {
    const auto pairs = make_pairs(training, *model.architecture,
                                  {.rank = 2, .alpha = 4, .roles = {TargetRole::kUp}, .seed = seed})
                           .value();
    const LowRankPair& pair = pairs.pairs[0];
    EXPECT_EQ(pair.scale, 2);
    EXPECT_THAT(pair.b, testing::Each(0.0F));
    const float most = *std::ranges::max_element(pair.a);
    EXPECT_GT(most, 0);
    EXPECT_LE(most, 1 / std::sqrt(static_cast<float>(pair.inputs)));
    return pair.a;
  };
  EXPECT_EQ(a_of(1), a_of(1));
  EXPECT_NE(a_of(1), a_of(2));
}

TEST(LowRankPairsTest, RolesThatTheModelLacksAreRefused) {
  const OpenedModel model = open_model(test::committed_golden("gpt2")).value();
  const auto training = make_training_program(*model.architecture, *model.checkpoint).value();
  const auto pairs =
      make_pairs(training, *model.architecture, {.roles = {TargetRole::kGate}, .seed = 1});
  ASSERT_FALSE(pairs);
  EXPECT_EQ(pairs.error().code, TrainErrc::kBadSetting);
  EXPECT_THAT(target_role("lm_head").error().detail, HasSubstr("\"lm_head\" is none of q, k, v"));
}

}  // namespace
}  // namespace weft
