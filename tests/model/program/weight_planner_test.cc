#include "weft/model/program/weight_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/model/program/program.h"
#include "weft/tests/fixture/files/checkpoint_builder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/small_model.h"

namespace weft {
namespace {

using test::CheckpointBuilder;
using test::FailsWith;
using test::numbers_of;
using test::small_checkpoint;
using test::small_frame;
using test::SmallSpec;
using testing::ElementsAre;
using testing::IsEmpty;

template <class Plan>
std::vector<float> named(const std::vector<Plan>& plans, std::string_view name) {
  const auto found = std::ranges::find(plans, name, &Plan::name);
  return found == plans.end() ? std::vector<float>() : numbers_of(*found);
}

/// The first column of a matrix over its width: which rows of the tensor stand where, when the
/// tensor's numbers count up.
std::vector<float> rows_of(const Program& program, std::string_view name) {
  const auto found = std::ranges::find(program.matrices, name, &MatrixPlan::name);
  if (found == program.matrices.end()) return {};
  const std::vector<float> numbers = numbers_of(*found);
  std::vector<float> rows;
  const auto width = static_cast<std::size_t>(found->inputs);
  for (std::size_t i = 0; i < numbers.size(); i += width) {
    rows.push_back(numbers[i] / static_cast<float>(width));
  }
  return rows;
}

/// The small model without the tensors of queries, keys and values.
CheckpointBuilder without_qkv() {
  CheckpointBuilder builder = small_frame();
  builder.tensor("out.weight", {4, 4});
  builder.tensor("gate.weight", {3, 4}).tensor("up.weight", {3, 4}).tensor("down.weight", {4, 3});
  return builder;
}

/// The small model without the tensors of the MLP.
CheckpointBuilder without_mlp() {
  CheckpointBuilder builder = small_frame();
  for (const char* name : {"q.weight", "k.weight", "v.weight", "out.weight"}) {
    builder.tensor(name, {4, 4});
  }
  return builder;
}

TEST(WeightPlannerTest, PutsQueriesKeysAndValuesUnderEachOther) {
  const Checkpoint checkpoint = without_qkv()
                                    .tensor("q.weight", {4, 4})
                                    .tensor("k.weight", {2, 4}, 100)
                                    .tensor("v.weight", {2, 4}, 200)
                                    .tensor("k.bias", {2}, 7)
                                    .make();
  SmallSpec spec;
  spec.attention.append("\nkv_heads = 1");
  const Program program = spec.compile(checkpoint).value();
  EXPECT_THAT(rows_of(program, "0.attention.qkv"), ElementsAre(0, 1, 2, 3, 25, 26, 50, 51));
  // A part without a bias gets none: a device fills with zeros.
  EXPECT_THAT(named(program.vectors, "0.attention.qkv.bias"),
              ElementsAre(-1, -1, -1, -1, 7, 8, -1, -1));
}

TEST(WeightPlannerTest, TakesAFusedTensorApartByGroups) {
  // Group 0: queries 0 and 1, key 0, value 0; then the same of group 1.
  const Checkpoint grouped =
      without_qkv().set("heads", 4).tensor("qkv.weight", {8, 4}).tensor("qkv.bias", {8}).make();
  SmallSpec spec;
  spec.attention = "kv_heads = 2\nhead_size = 1\nqkv = { tensor = 'qkv', groups = 2 }";
  const Program program = spec.compile(grouped).value();
  EXPECT_THAT(rows_of(program, "0.attention.qkv"), ElementsAre(0, 1, 4, 5, 2, 6, 3, 7));
  EXPECT_THAT(named(program.vectors, "0.attention.qkv.bias"), ElementsAre(0, 1, 4, 5, 2, 6, 3, 7));
}

TEST(WeightPlannerTest, TakesAFusedTensorApartInItsOrder) {
  const Checkpoint checkpoint = without_qkv().set("heads", 4).tensor("qkv.weight", {8, 4}).make();
  SmallSpec spec;
  spec.attention =
      "kv_heads = 2\nhead_size = 1\nqkv = { tensor = 'qkv', groups = 2, order = 'vqk' }";
  const Program program = spec.compile(checkpoint).value();
  EXPECT_THAT(rows_of(program, "0.attention.qkv"), ElementsAre(1, 2, 5, 6, 3, 7, 0, 4));
}

TEST(WeightPlannerTest, RefusesGroupsThatDoNotDivideTheHeads) {
  const Checkpoint checkpoint = without_qkv().tensor("qkv.weight", {12, 4}).make();
  SmallSpec spec;
  spec.attention = "qkv = { tensor = 'qkv', groups = 3 }";
  EXPECT_THAT(spec.compile(checkpoint),
              FailsWith(ModelErrc::kBadConfig, "attention.qkv.groups: 3 does not divide"));
}

TEST(WeightPlannerTest, FindsTheHalvesOfANormByTheirOldNamesAndByWholeOnes) {
  struct Case {
    const char* tensor;
    const char* weight;
    const char* bias;
  };
  for (const Case& one :
       {Case{"last", "last.gamma", "last.beta"}, Case{"last.gamma", "last.gamma", "last.beta"},
        Case{"last.weight", "last.weight", "last.bias"}}) {
    SCOPED_TRACE(one.tensor);
    const Checkpoint checkpoint =
        small_checkpoint().tensor(one.weight, {4}, 10).tensor(one.bias, {4}, 20).make();
    SmallSpec spec;
    spec.attention += std::string("\nnorm_out = '") + one.tensor + "'";
    const Program program = spec.compile(checkpoint).value();
    EXPECT_THAT(named(program.vectors, "0.attention.norm_out.weight"), ElementsAre(10, 11, 12, 13));
    EXPECT_THAT(named(program.vectors, "0.attention.norm_out.bias"), ElementsAre(20, 21, 22, 23));
  }
}

TEST(WeightPlannerTest, ANormWhoseHalfIsMissingIsRefusedByTheTensorsName) {
  SmallSpec spec;
  spec.attention += "\nnorm_out = { tensor = 'last', kind = 'layer', has_bias = true }";
  const Checkpoint no_bias = small_checkpoint().tensor("last.weight", {4}).make();
  EXPECT_THAT(spec.compile(no_bias), FailsWith(ModelErrc::kMissingTensor, "last.bias"));
  const Checkpoint no_weight = small_checkpoint().tensor("last.bias", {4}).make();
  EXPECT_THAT(spec.compile(no_weight), FailsWith(ModelErrc::kMissingTensor, "last.weight"));
}

TEST(WeightPlannerTest, ReadsTransposedTensorsByColumns) {
  const Checkpoint checkpoint = small_checkpoint().tensor("turned.weight", {4, 3}).make();
  SmallSpec spec;
  spec.mlp = "gated = false\nactivation = 'relu'\nup = { tensor = 'turned', transposed = true }";
  const Program program = spec.compile(checkpoint).value();
  EXPECT_THAT(named(program.matrices, "0.mlp.up"),
              ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
}

TEST(WeightPlannerTest, PutsTheGateBeforeTheOtherHalf) {
  const Checkpoint checkpoint = without_mlp()
                                    .tensor("gate.weight", {3, 4})
                                    .tensor("up.weight", {3, 4}, 40)
                                    .tensor("down.weight", {4, 3})
                                    .make();
  EXPECT_THAT(rows_of(SmallSpec().compile(checkpoint).value(), "0.mlp.gate_up"),
              ElementsAre(0, 1, 2, 10, 11, 12));
}

struct GateUp {
  const char* fields;
  std::vector<float> rows;
};

TEST(WeightPlannerTest, TakesAFusedGateApart) {
  const Checkpoint checkpoint = without_mlp()
                                    .tensor("both.weight", {6, 4})
                                    .tensor("both.bias", {6})
                                    .tensor("down.weight", {4, 3})
                                    .make();
  for (const GateUp& each :
       {GateUp{"", {0, 1, 2, 3, 4, 5}}, GateUp{", up_first = true", {3, 4, 5, 0, 1, 2}},
        GateUp{", interleaved = true", {0, 2, 4, 1, 3, 5}},
        GateUp{", interleaved = true, up_first = true", {1, 3, 5, 0, 2, 4}}}) {
    SmallSpec spec;
    spec.mlp = std::string("gate_up = { tensor = 'both'") + each.fields + " }";
    const Program program = spec.compile(checkpoint).value();
    EXPECT_EQ(rows_of(program, "0.mlp.gate_up"), each.rows) << each.fields;
    EXPECT_EQ(named(program.vectors, "0.mlp.gate_up.bias"), each.rows) << each.fields;
  }
}

TEST(WeightPlannerTest, TakesGateAndUpWhereTheFusedTensorIsNotThere) {
  SmallSpec spec;
  spec.mlp = "gate = 'gate'\nup = 'up'\ngate_up = 'both'";
  const Checkpoint apart = without_mlp()
                               .tensor("gate.weight", {3, 4})
                               .tensor("up.weight", {3, 4}, 40)
                               .tensor("down.weight", {4, 3})
                               .make();
  EXPECT_THAT(rows_of(spec.compile(apart).value(), "0.mlp.gate_up"),
              ElementsAre(0, 1, 2, 10, 11, 12));
  const Checkpoint fused =
      without_mlp().tensor("both.weight", {6, 4}).tensor("down.weight", {4, 3}).make();
  EXPECT_THAT(rows_of(spec.compile(fused).value(), "0.mlp.gate_up"), ElementsAre(0, 1, 2, 3, 4, 5));
}

SmallSpec experts(const std::string& tensors) {
  SmallSpec spec;
  spec.mlp =
      "gated = false\nactivation = 'relu'\n[mlp.experts]\ncount = 2\nchosen = 1\nsize = 3\n"
      "router_tensor = 'router'\n" +
      tensors;
  return spec;
}

TEST(WeightPlannerTest, FindsExpertsByTheirNumbers) {
  const Checkpoint checkpoint = without_mlp()
                                    .tensor("router.weight", {2, 4})
                                    .tensor("e.0.up.weight", {3, 4})
                                    .tensor("e.1.up.weight", {3, 4}, 12)
                                    .tensor("e.0.down.weight", {4, 3})
                                    .tensor("e.1.down.weight", {4, 3}, 12)
                                    .make();
  const Program program =
      experts("up = 'e.{expert}.up'\ndown = 'e.{expert}.down'").compile(checkpoint).value();
  EXPECT_THAT(rows_of(program, "0.mlp.experts.0.up"), ElementsAre(0, 1, 2));
  EXPECT_THAT(rows_of(program, "0.mlp.experts.1.up"), ElementsAre(3, 4, 5));
  EXPECT_THAT(rows_of(program, "0.mlp.experts.1.down"), ElementsAre(4, 5, 6, 7));
}

TEST(WeightPlannerTest, HoldsExpertsOfSeveralTypesInFloat32) {
  const Checkpoint checkpoint = without_mlp()
                                    .tensor("router.weight", {2, 4})
                                    .tensor("e.0.up.weight", {3, 4})
                                    .zeros("e.1.up.weight", DType::kBF16, {3, 4}, 12)
                                    .zeros("e.0.down.weight", DType::kBF16, {4, 3}, 12)
                                    .zeros("e.1.down.weight", DType::kBF16, {4, 3}, 12)
                                    .make();
  const Program program =
      experts("up = 'e.{expert}.up'\ndown = 'e.{expert}.down'").compile(checkpoint).value();
  const auto type_of = [&](const std::string& name) {
    return std::ranges::find(program.matrices, name, &MatrixPlan::name)->dtype;
  };
  EXPECT_EQ(type_of("0.mlp.experts.0.up"), DType::kF32);
  EXPECT_EQ(type_of("0.mlp.experts.1.up"), DType::kF32);
  EXPECT_EQ(type_of("0.mlp.experts.0.down"), DType::kBF16);
  EXPECT_EQ(type_of("0.mlp.experts.1.down"), DType::kBF16);
}

TEST(WeightPlannerTest, TakesAVectorForAMatrixOfOneRow) {
  const Checkpoint checkpoint = without_mlp()
                                    .tensor("router.weight", {2, 4})
                                    .tensor("up.weight", {2, 3, 4})
                                    .tensor("down.weight", {2, 4, 3})
                                    .tensor("s.up.weight", {3, 4})
                                    .tensor("s.down.weight", {4, 3})
                                    .tensor("s.gate.weight", {4}, 8)
                                    .make();
  const Program program = experts(
                              "up = 'up'\ndown = 'down'\n[mlp.experts.shared]\nsize = 3\n"
                              "up = 's.up'\ndown = 's.down'\ngate_tensor = 's.gate'")
                              .compile(checkpoint)
                              .value();
  EXPECT_THAT(named(program.matrices, "0.mlp.shared.gate"), ElementsAre(8, 9, 10, 11));
}

TEST(WeightPlannerTest, FindsExpertsInAStack) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2, 3, 4}, std::vector<std::int64_t>{6, 4}}) {
    const Checkpoint checkpoint = without_mlp()
                                      .tensor("router.weight", {2, 4})
                                      .tensor("up", shape)
                                      .tensor("up_bias", {2, 3})
                                      .tensor("down.weight", {2, 4, 3})
                                      .make();
    const Program program = experts("up = 'up'\ndown = 'down'").compile(checkpoint).value();
    EXPECT_THAT(rows_of(program, "0.mlp.experts.0.up"), ElementsAre(0, 1, 2));
    EXPECT_THAT(rows_of(program, "0.mlp.experts.1.up"), ElementsAre(3, 4, 5));
    EXPECT_THAT(named(program.vectors, "0.mlp.experts.1.up.bias"), ElementsAre(3, 4, 5));
    EXPECT_THAT(rows_of(program, "0.mlp.experts.1.down"), ElementsAre(4, 5, 6, 7));
  }
}

TEST(WeightPlannerTest, FindsExpertsInATransposedStack) {
  const Checkpoint checkpoint = without_mlp()
                                    .tensor("router.weight", {2, 4})
                                    .tensor("up", {2, 4, 3})
                                    .tensor("down.weight", {2, 4, 3})
                                    .make();
  const Program program = experts("up = { tensor = 'up', transposed = true }\ndown = 'down'")
                              .compile(checkpoint)
                              .value();
  EXPECT_THAT(named(program.matrices, "0.mlp.experts.1.up"),
              ElementsAre(12, 15, 18, 21, 13, 16, 19, 22, 14, 17, 20, 23));
}

TEST(WeightPlannerTest, NamesAStackOfTooFewExperts) {
  const Checkpoint checkpoint = without_mlp()
                                    .tensor("router.weight", {2, 4})
                                    .tensor("up", {1, 3, 4})
                                    .tensor("down.weight", {2, 4, 3})
                                    .make();
  EXPECT_THAT(experts("up = 'up'\ndown = 'down'").compile(checkpoint),
              FailsWith(ModelErrc::kBadTensor, "up is f32 [1, 3, 4], the model needs [3, 4]"));
}

TEST(WeightPlannerTest, GathersANormOfEachHead) {
  const Checkpoint checkpoint =
      small_checkpoint().tensor("qn.0.weight", {2}).tensor("qn.1.weight", {2}, 10).make();
  SmallSpec spec;
  spec.attention.append("\nq_norm = 'qn.{head}'\nhead_norm_scope = 'each_head'");
  const Program program = spec.compile(checkpoint).value();
  EXPECT_THAT(named(program.vectors, "0.attention.q_norm.weight"), ElementsAre(0, 1, 10, 11));
}

TEST(WeightPlannerTest, TurnsATableOfDistanceBiases) {
  const Checkpoint checkpoint = small_checkpoint().tensor("bias.weight", {3, 2}).make();
  SmallSpec spec;
  spec.attention.append("\nrelative_bias = { tensor = 'bias' }");
  const Program program = spec.compile(checkpoint).value();
  EXPECT_THAT(named(program.vectors, "0.attention.relative_bias"), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(WeightPlannerTest, TriesTheNamesInTheirOrder) {
  const Checkpoint checkpoint = small_checkpoint().tensor("other.weight", {4, 4}, 16).make();
  SmallSpec spec;
  spec.attention = "q = ['absent', 'other', 'q']\nk = 'k'\nv = 'v'";
  const Program program = spec.compile(checkpoint).value();
  EXPECT_THAT(rows_of(program, "0.attention.qkv"), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(program.unused_tensors, ElementsAre("q.weight"));
}

TEST(WeightPlannerTest, NamesTheTensorsThatAreMissing) {
  const Checkpoint checkpoint = small_frame().tensor("q.weight", {4, 4}).make();
  SmallSpec spec;
  spec.mlp = "gate = ['g', 'gate']\nup = 'up'";
  EXPECT_THAT(spec.compile(checkpoint),
              FailsWith(ModelErrc::kMissingTensor,
                        "made-model: k.weight, v.weight, out.weight, g.weight or gate.weight, "
                        "up.weight and 1 more"));
}

TEST(WeightPlannerTest, NamesATensorThatDoesNotFit) {
  const Checkpoint checkpoint = without_qkv()
                                    .tensor("q.weight", {4, 5})
                                    .tensor("k.weight", {4, 4})
                                    .tensor("v.weight", {4, 4})
                                    .make();
  EXPECT_THAT(SmallSpec().compile(checkpoint),
              FailsWith(ModelErrc::kBadTensor,
                        "model.safetensors: q.weight is f32 [4, 5], the model needs [4, 4]"));
}

TEST(WeightPlannerTest, NamesABiasThatDoesNotFit) {
  const Checkpoint checkpoint = small_checkpoint().tensor("out.bias", {3}).make();
  EXPECT_THAT(SmallSpec().compile(checkpoint),
              FailsWith(ModelErrc::kBadTensor, "out.bias is f32 [3], the model needs [4]"));
}

TEST(WeightPlannerTest, NamesAnEmbeddingOfAnotherVocabulary) {
  const Checkpoint checkpoint = CheckpointBuilder("{}").tensor("embed.weight", {5, 4}).make();
  EXPECT_THAT(
      SmallSpec().compile(checkpoint),
      FailsWith(ModelErrc::kBadTensor, "embed.weight is f32 [5, 4], the model needs [6, 4]"));
}

TEST(WeightPlannerTest, NamesAnEmbeddingWhoseRowsNoDeviceReads) {
  const Checkpoint wide =
      CheckpointBuilder("{}").zeros("embed.weight", DType::kF64, {6, 4}, 24).make();
  EXPECT_THAT(SmallSpec().compile(wide),
              FailsWith(ModelErrc::kBadTensor, "embed.weight is f64 [6, 4], the model needs f32"));
  // A row of 4 is no whole block of 32.
  const Checkpoint quantized =
      CheckpointBuilder("{}").zeros("embed.weight", DType::kQ8_0, {6, 4}, 32).make();
  EXPECT_THAT(SmallSpec().compile(quantized),
              FailsWith(ModelErrc::kBadTensor, "the model needs rows of whole blocks"));
}

TEST(WeightPlannerTest, RefusesWeightsThatAreNoRealNumbers) {
  const Checkpoint checkpoint = small_frame().zeros("q.weight", DType::kI8, {4, 4}, 16).make();
  EXPECT_THAT(SmallSpec().compile(checkpoint),
              FailsWith(ModelErrc::kBadTensor,
                        "q.weight is i8 [4, 4], the model needs a floating-point tensor"));
}

TEST(WeightPlannerTest, HoldsPartsOfDifferentTypesThatShareAPanelAsFloat32) {
  const Checkpoint checkpoint = without_qkv()
                                    .tensor("q.weight", {4, 4})
                                    .zeros("k.weight", DType::kBF16, {4, 4}, 16)
                                    .zeros("v.weight", DType::kBF16, {4, 4}, 16)
                                    .make();
  const Program program = SmallSpec().compile(checkpoint).value();
  EXPECT_EQ(program.matrices.front().dtype, DType::kF32);
  EXPECT_THAT(program.matrices.front().runs, IsEmpty());
}

TEST(WeightPlannerTest, HoldsAGateAndAnUpOfTwoTypesEachInItsOwn) {
  CheckpointBuilder builder = small_frame();
  for (const char* name : {"q.weight", "k.weight", "v.weight", "out.weight"}) {
    builder.tensor(name, {4, 4});
  }
  builder.tensor("gate.weight", {3, 4}).zeros("up.weight", DType::kBF16, {3, 4}, 12);
  const Checkpoint checkpoint = builder.tensor("down.weight", {4, 3}).make();
  const Program program = SmallSpec().compile(checkpoint).value();
  const auto matrix = std::ranges::find(program.matrices, "0.mlp.gate_up", &MatrixPlan::name);
  ASSERT_NE(matrix, program.matrices.end());
  EXPECT_THAT(matrix->runs,
              ElementsAre(WeightRun{DType::kF32, 0, 3}, WeightRun{DType::kBF16, 3, 3}));
  EXPECT_EQ(matrix->bytes(), 3 * 4 * 4 + 3 * 4 * 2);
  EXPECT_EQ(matrix->dtype, DType::kF32) << "for a device that holds it in one type";
}

TEST(WeightPlannerTest, KeepsTheOrderInWhichAllPartsHaveTheirColumns) {
  CheckpointBuilder builder = without_qkv();
  for (const char* name : {"q.weight", "k.weight", "v.weight"}) {
    builder.zeros(name, DType::kBF16, {4, 4}, 16).in_order({2, 0, 1, 3});
  }
  const Checkpoint checkpoint = builder.make();
  const Program program = SmallSpec().compile(checkpoint).value();
  EXPECT_EQ(program.matrices.front().dtype, DType::kBF16);
  ASSERT_NE(program.matrices.front().input_order, nullptr);
  EXPECT_THAT(*program.matrices.front().input_order, ElementsAre(2, 0, 1, 3));
}

TEST(WeightPlannerTest, HoldsPartsWhoseColumnsStandInDifferentOrdersAsFloat32) {
  const Checkpoint checkpoint = without_qkv()
                                    .zeros("q.weight", DType::kBF16, {4, 4}, 16)
                                    .in_order({2, 0, 1, 3})
                                    .zeros("k.weight", DType::kBF16, {4, 4}, 16)
                                    .zeros("v.weight", DType::kBF16, {4, 4}, 16)
                                    .make();
  const Program program = SmallSpec().compile(checkpoint).value();
  EXPECT_EQ(program.matrices.front().dtype, DType::kF32);
  EXPECT_EQ(program.matrices.front().input_order, nullptr);
}

TEST(WeightPlannerTest, CountsEachNumberOnceAlsoWhenTheHeadIsTied) {
  const Program program = SmallSpec().compile(test::small_model()).value();
  EXPECT_EQ(program.parameters, 6 * 4 + 3 * 4 + 4 * 16 + 3 * 12);
}

TEST(WeightPlannerTest, DoesNotMindASecondCopyOfATiedHead) {
  const Checkpoint checkpoint =
      small_checkpoint().tensor("lm_head.weight", {6, 4}).tensor("odd", {1}).make();
  SmallSpec spec;
  spec.head = "tied = true\ntensor = 'lm_head'";
  EXPECT_THAT(spec.compile(checkpoint).value().unused_tensors, ElementsAre("odd"));
}

TEST(WeightPlannerTest, DoesNotMindTensorsThatTheSpecIgnores) {
  const Checkpoint checkpoint = small_checkpoint()
                                    .tensor("layers.0.rotary.inv_freq", {1})
                                    .tensor("layers.1.rotary.inv_freq", {1})
                                    .make();
  SmallSpec spec;
  spec.top = "ignored_tensors = ['*rotary.inv_freq']";
  EXPECT_THAT(spec.compile(checkpoint).value().unused_tensors, IsEmpty());
  EXPECT_THAT(SmallSpec().compile(checkpoint).value().unused_tensors,
              ElementsAre("layers.0.rotary.inv_freq", "layers.1.rotary.inv_freq"));
}

}  // namespace
}  // namespace weft
