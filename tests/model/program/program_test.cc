#include "weft/model/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/checkpoint_builder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/small_model.h"

namespace weft {
namespace {

using test::FailsWith;
using test::small_checkpoint;
using test::SmallSpec;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Wanted>
const Wanted& only(const OpList& list) {
  const auto is_wanted = [](const Op& op) { return std::holds_alternative<Wanted>(op); };
  EXPECT_EQ(std::ranges::count_if(list.ops, is_wanted), 1);
  return std::get<Wanted>(*std::ranges::find_if(list.ops, is_wanted));
}

std::vector<std::string> verbs_of(const Program& program) {
  std::vector<std::string> verbs;
  const std::string text = describe(program);
  for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    const std::size_t verb = at + 8;  // after the number
    verbs.push_back(text.substr(verb, text.find(' ', verb) - verb));
  }
  return verbs;
}

TEST(ProgramTest, IsAListOfFusedOps) {
  const Program program = SmallSpec().compile(test::small_model()).value();
  EXPECT_THAT(verbs_of(program),
              ElementsAre("embed", "norm", "linear", "rotary", "attention", "linear", "norm",
                          "linear", "linear", "norm", "linear"));
}

TEST(ProgramTest, IsDescribedForPeople) {
  SmallSpec spec;
  spec.attention.append("\nwindow = 5\nsoft_cap = 30\n[attention.rotary]");
  spec.head = "tied = true\nsoft_cap = 20";
  const std::string text = describe(spec.compile(test::small_model()).value());
  EXPECT_THAT(text, HasSubstr("decode: 11 ops\n    0  embed     ids -> x  embed.weight\n"));
  EXPECT_THAT(text, HasSubstr("linear    h -> qkv  0.attention.qkv [12, 4] f32"));
  EXPECT_THAT(text, HasSubstr("rotary    qkv, turn 2 of 2 by halves -> KV self.0"));
  EXPECT_THAT(text, HasSubstr("attention qkv -> a  KV self.0, 2 heads, causal, scale 0.707107, "
                              "window 5, soft cap 30"));
  EXPECT_THAT(text, HasSubstr("linear    a -> x + x  0.attention.out [4, 4] f32"));
  EXPECT_THAT(text, HasSubstr("linear    h -> f  0.mlp.gate_up [3, 4] f32, silu, gated"));
  EXPECT_THAT(text, HasSubstr("linear    x -> logits  head [6, 4] f32, soft cap 20"));
}

TEST(ProgramTest, LetsAParallelMlpReadWhatAttentionReads) {
  SmallSpec spec;
  spec.top = "parallel = true";
  const Program program = spec.compile(test::small_model()).value();
  // Both norms come first: what attention adds must not reach the MLP.
  EXPECT_THAT(verbs_of(program),
              ElementsAre("embed", "norm", "norm", "linear", "rotary", "attention", "linear",
                          "linear", "linear", "norm", "linear"));
}

TEST(ProgramTest, SumsUpOnceWhatRanksComputeOfAParallelLayer) {
  const Checkpoint& checkpoint = test::small_model();
  for (const std::int32_t rank : {0, 1}) {
    ProgramPart part;
    part.ranks = 2;
    part.rank = rank;
    SmallSpec spec;
    EXPECT_THAT(verbs_of(spec.compile(checkpoint, part).value()),
                ElementsAre("embed", "all_reduce", "norm", "linear", "rotary", "attention",
                            "linear", "all_reduce", "norm", "linear", "linear", "all_reduce",
                            "norm", "linear", "gather"));
    spec.top = "parallel = true";
    EXPECT_THAT(
        verbs_of(spec.compile(checkpoint, part).value()),
        ElementsAre("embed", "all_reduce", "norm", "norm", "linear", "rotary", "attention",
                    "linear", "linear", "linear", "all_reduce", "norm", "linear", "gather"));
  }
}

TEST(ProgramTest, HasNoKeysOfALayerWithoutAttention) {
  SmallSpec spec;
  spec.layers = 3;
  spec.attention.append("\npresent = \"= layer != 1\"");
  const Program program = spec.compile(test::small_model()).value();
  EXPECT_THAT(program.self_kv, testing::SizeIs(2));
  std::vector<std::int32_t> read;
  std::size_t products = 0;
  for (const Op& op : program.decode.ops) {
    if (const auto* attention = std::get_if<AttentionOp>(&op)) read.push_back(attention->layer);
    if (std::holds_alternative<LinearOp>(op)) ++products;
  }
  EXPECT_THAT(read, ElementsAre(0, 1));
  EXPECT_EQ(products, 4U + 2U + 4U + 1U);
}

TEST(ProgramTest, ScalesWhatASublayerAdds) {
  SmallSpec spec;
  spec.attention.append("\nresidual_scale = 0.5");
  const Program program = spec.compile(test::small_model()).value();
  std::vector<float> scales;
  for (const Op& op : program.decode.ops) {
    if (const auto* linear = std::get_if<LinearOp>(&op)) scales.push_back(linear->spec.scale);
  }
  EXPECT_THAT(scales, ElementsAre(1, 0.5F, 1, 1, 1));
}

TEST(ProgramTest, CountsBytesOfKvPerToken) {
  const Program program = SmallSpec().compile(test::small_model()).value();
  EXPECT_THAT(program.self_kv, testing::SizeIs(1));
  EXPECT_EQ(program.kv_bytes_per_token(DType::kF32), 2 * 2 * 2 * 4);
  EXPECT_EQ(program.kv_bytes_per_token(DType::kBF16), 2 * 2 * 2 * 2);
  EXPECT_EQ(program.kv_bytes_per_token(DType::kI8), 2 * 2 * (2 + 4))
      << "with a scale for each head";
}

TEST(ProgramTest, CountsBytesOfItsWeights) {
  const Program program = SmallSpec().compile(test::small_model()).value();
  // qkv, out, gate and up, down, head; three norms.
  EXPECT_EQ(program.weight_bytes(), 4 * (12 * 4 + 4 * 4 + 6 * 4 + 4 * 3 + 6 * 4 + 3 * 4));
}

TEST(ProgramTest, IsBoundedByTheTableOfLearnedPositions) {
  const Checkpoint checkpoint = small_checkpoint().tensor("places.weight", {7, 4}).make();
  SmallSpec spec;
  spec.embedding = "positions = { kind = 'learned', tensor = 'places', offset = 2 }";
  EXPECT_EQ(spec.compile(checkpoint).value().context, 5);
}

TEST(ProgramTest, RefusesATableWithFewerPositionsThanItsOffset) {
  const Checkpoint checkpoint = small_checkpoint().tensor("places.weight", {2, 4}).make();
  SmallSpec spec;
  spec.embedding = "positions = { kind = 'learned', tensor = 'places', offset = 2 }";
  EXPECT_THAT(spec.compile(checkpoint),
              FailsWith(ModelErrc::kBadTensor,
                        "places: of its 2 rows embedding.positions.offset leaves none"));
}

TEST(ProgramTest, RefusesDistanceBiasesThatNoDeviceCanUse) {
  const auto with = [](std::int64_t buckets, int max_distance, const char* top) {
    const Checkpoint checkpoint = small_checkpoint().tensor("bias", {buckets, 2}).make();
    SmallSpec spec;
    spec.top = top;
    if (spec.top.find("encoder") != std::string::npos) spec.head = "present = false";
    spec.attention.append("\nrelative_bias = { tensor = 'bias', max_distance = ")
        .append(std::to_string(max_distance))
        .append(" }");
    const auto program = spec.compile(checkpoint);
    return program ? std::string() : to_string(program.error());
  };
  EXPECT_EQ(with(2, 2, ""), "");
  EXPECT_THAT(with(1, 128, ""), HasSubstr("bias: 1 buckets do not suit"));
  EXPECT_THAT(with(8, 4, ""),
              HasSubstr("bias: 8 buckets do not suit relative_bias.max_distance 4"));
  EXPECT_THAT(with(5000, 100000, ""), HasSubstr("buckets do not suit"));
  EXPECT_EQ(with(4, 128, "kind = 'encoder'"), "");
  EXPECT_THAT(with(3, 128, "kind = 'encoder'"), HasSubstr("bias: 3 buckets do not suit"));
}

TEST(ProgramTest, RefusesATypeTableWithoutRows) {
  const Checkpoint checkpoint = small_checkpoint().tensor("types.weight", {0, 4}).make();
  SmallSpec spec;
  spec.embedding = "types = 'types'";
  EXPECT_THAT(spec.compile(checkpoint),
              FailsWith(ModelErrc::kBadTensor, "types.weight is f32 [0, 4], the model needs"));
}

TEST(ProgramTest, AddsTypesBeforeAndPositionsAfterTheProjectionOfTheEmbedding) {
  test::CheckpointBuilder builder("{}");
  builder.tensor("embed.weight", {6, 2}).tensor("project.weight", {4, 2});
  builder.tensor("types.weight", {1, 2}).tensor("places.weight", {9, 4});
  for (const CheckpointTensor& tensor : test::small_model().tensors()) {
    if (tensor.name != "embed.weight") builder.tensor(tensor.name, tensor.shape);
  }
  const Checkpoint checkpoint = builder.make();
  SmallSpec spec;
  spec.embedding =
      "size = 2\nprojection = 'project'\ntypes = 'types'\n"
      "positions = { kind = 'learned', tensor = 'places' }";
  spec.head = "tensor = 'project'\npresent = false";
  const Program program = spec.compile(checkpoint).value();
  const auto& first = std::get<EmbedOp>(program.decode.ops.at(0));
  const auto& second = std::get<EmbedOp>(program.decode.ops.at(1));
  EXPECT_NE(first.constant, kAbsent);
  EXPECT_EQ(first.positions, kAbsent);
  EXPECT_EQ(second.constant, kAbsent);
  EXPECT_NE(second.positions, kAbsent);
  EXPECT_EQ(std::get<LinearOp>(program.decode.ops.at(2)).residual, second.out);
}

TEST(ProgramTest, RefusesANarrowEmbeddingWithoutAProjection) {
  SmallSpec spec;
  spec.embedding = "size = 2";
  EXPECT_THAT(spec.compile(test::small_model()),
              FailsWith(ModelErrc::kBadConfig, "size: 2 needs a projection to hidden = 4"));
}

TEST(ProgramTest, SharesOneTableOfAnglesBetweenLayers) {
  SmallSpec spec;
  spec.layers = 3;
  spec.attention.append("\n[attention.rotary]\ntheta = 500");
  const Program program = spec.compile(test::small_model()).value();
  EXPECT_EQ(program.rotary.size(), 1U);
}

TEST(ProgramTest, RefusesRopeScalingThatItDoesNotKnow) {
  SmallSpec spec;
  spec.attention.append("\n[attention.rotary]\nscaling = \"= rope_scaling\"");
  const Checkpoint checkpoint =
      small_checkpoint().set("rope_scaling", {{"rope_type", "magic"}}).make();
  EXPECT_THAT(spec.compile(checkpoint),
              FailsWith(ModelErrc::kBadConfig, "type 'magic' is not known"));
}

TEST(ProgramTest, OfAnEncoderGivesHiddenStates) {
  SmallSpec spec;
  spec.top = "kind = 'encoder'";
  spec.head = "present = false";
  const Program program = spec.compile(test::small_model()).value();
  EXPECT_FALSE(program.has_logits);
  EXPECT_FALSE(program.has_encoder);
  EXPECT_FALSE(only<AttentionOp>(program.decode).spec.causal);
  EXPECT_EQ(program.buffers[static_cast<std::size_t>(program.decode.result)].width, 4);
  EXPECT_EQ(program.kv_bytes_per_token(DType::kF32), 0);
}

TEST(ProgramTest, OfAnEncoderWithAHeadFillsMasksAndGeneratesNothing) {
  SmallSpec spec;
  spec.top = "kind = 'encoder'";
  const Program program = spec.compile(test::small_model()).value();
  EXPECT_TRUE(program.has_logits);
  EXPECT_TRUE(program.fills_masks());
  EXPECT_FALSE(program.generates());
  EXPECT_EQ(program.buffers[static_cast<std::size_t>(program.decode.result)].width,
            program.vocabulary);
  EXPECT_NE(program.decode.result, program.hidden_states);
}

}  // namespace
}  // namespace weft
