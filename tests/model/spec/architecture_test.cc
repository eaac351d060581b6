#include "weft/model/spec/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/kernels/experts/experts.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/files/checkpoint_builder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/small_model.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

using test::CheckpointBuilder;
using test::FailsWith;
using test::SmallSpec;
using testing::AllOf;
using testing::ElementsAre;
using testing::SizeIs;

CheckpointBuilder llama() {
  return CheckpointBuilder(R"({"model_type": "llama", "vocab_size": 32, "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2,
      "intermediate_size": 96, "max_position_embeddings": 128, "eos_token_id": [2, 3],
      "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": true})");
}

Result<Architecture> resolve(const CheckpointBuilder& builder) {
  const Checkpoint checkpoint = builder.make();
  return resolve_architecture(find_spec(checkpoint).value(), checkpoint);
}

std::vector<int> windows_of(const Architecture& model) {
  std::vector<int> windows;
  for (const LayerBlock& layer : model.decoder.layers)
    windows.push_back(layer.attention()->spec.window);
  return windows;
}

TEST(ArchitectureTest, TakesItsSizesFromTheConfig) {
  const Architecture model = resolve(llama()).value();
  EXPECT_EQ(model.family, "llama");
  EXPECT_EQ(model.kind, ModelKind::kDecoder);
  EXPECT_EQ(model.vocabulary, 32);
  EXPECT_EQ(model.hidden, 64);
  EXPECT_EQ(model.context, 128);
  EXPECT_THAT(model.end_tokens, ElementsAre(2, 3));
  ASSERT_THAT(model.decoder.layers, SizeIs(2));
  const AttentionBlock& attention = *model.decoder.layers[1].attention();
  EXPECT_EQ(attention.shape.heads, 8);
  EXPECT_EQ(attention.shape.kv_heads, 2);
  EXPECT_EQ(attention.shape.head_size, 8);
  EXPECT_EQ(attention.rotary_spec.rotary_size, 8);
  EXPECT_THAT(attention.qkv.query.tensor, ElementsAre("model.layers.1.self_attn.q_proj"));
  EXPECT_EQ(model.decoder.layers[1].mlp.dense.size, 96);
  EXPECT_EQ(model.decoder.rotary.at(0).theta, 500000);
  EXPECT_TRUE(model.head.tied);
}

TEST(ArchitectureTest, TakesDefaultsForWhatTheConfigLeavesOut) {
  const Checkpoint checkpoint =
      llama().set("num_key_value_heads", nullptr).set("rope_theta", nullptr).make();
  const Architecture model =
      resolve_architecture(find_spec(checkpoint).value(), checkpoint).value();
  EXPECT_EQ(model.decoder.layers[0].attention()->shape.kv_heads, 8);
  EXPECT_EQ(model.decoder.rotary.at(0).theta, 10000);
}

struct Wrong {
  const char* field;
  boost::json::value value;
  const char* detail;
};

void PrintTo(const Wrong& each, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << each.field << " = " << each.value;
}

class WrongConfigTest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongConfigTest, IsRefusedByFieldAndFile) {
  const auto model = resolve(llama().set(GetParam().field, GetParam().value));
  EXPECT_THAT(model, AllOf(FailsWith(ModelErrc::kBadConfig, "made-model read by llama.toml: "),
                           FailsWith(ModelErrc::kBadConfig, GetParam().field),
                           FailsWith(ModelErrc::kBadConfig, GetParam().detail)));
}

INSTANTIATE_TEST_SUITE_P(, WrongConfigTest,
                         testing::ValuesIn(std::vector<Wrong>{
                             {"eos_token_id", 32, "32 is not in the vocabulary of 32"},
                             {"eos_token_id", -1, "-1 is not in the vocabulary"},
                             {"eos_token_id", boost::json::array{2, "</s>"},
                              "token ids are needed"},
                             {"eos_token_id", boost::json::array{2, 99}, "99 is not in"},
                             {"eos_token_id", boost::json::array{2, nullptr}, "token ids"},
                             {"eos_token_id", "</s>", "where token ids are needed"},
                             {"eos_token_id", 2.5, "where token ids are needed"},
                             {"num_attention_heads", 0, "0 is not in 1 .. 1024"},
                             {"num_attention_heads", -8, "is not in"},
                             {"num_attention_heads", 100000, "is not in"},
                             {"num_attention_heads", 7, "is not a whole number"},  // 64 / 7
                             {"num_attention_heads", "eight", "where a number is needed"},
                             {"num_attention_heads", nullptr, "num_attention_heads"},
                             {"num_attention_heads", 2.5, "is not a whole number"},
                             {"num_key_value_heads", 3, "8 heads cannot share 3 KV heads evenly"},
                             {"num_key_value_heads", 0, "is not in"},
                             {"head_dim", 0, "is not in"},
                             {"num_hidden_layers", 0, "is not in"},
                             {"num_hidden_layers", 1000000000, "is not in"},
                             {"num_hidden_layers", 1e300, "is not in"},
                             {"hidden_size", 0, "is not in"},
                             {"hidden_size", -64, "is not in"},
                             {"hidden_size", 9223372036854775807, "is not in"},
                             {"vocab_size", 0, "is not in"},
                             {"vocab_size", true, "where a number is needed"},
                             {"max_position_embeddings", 0, "is not in"},
                             {"intermediate_size", 0, "must not be 0"},
                             {"intermediate_size", -1, "is not in"},
                             {"rms_norm_eps", -1e-5, "is not in"},
                             {"rms_norm_eps", "1e-5", "where a number is needed"},
                             {"rope_theta", 0, "is not in"},
                             {"rope_theta", -10000.0, "is not in"},
                             {"hidden_act", "mish", "'mish' is not one of silu"},
                             {"hidden_act", 3, "where a string is needed"},
                             {"tie_word_embeddings", "yes", "where true or false is needed"},
                         }));

TEST(ArchitectureTest, RefusesATiedHeadThatIsNormalized) {
  SmallSpec spec;
  spec.head = "tied = true\nnormalized = true";
  EXPECT_THAT(spec.resolve(test::small_checkpoint().make()),
              FailsWith(ModelErrc::kBadConfig, "head.normalized: is not for a tied head"));
}

TEST(ArchitectureTest, RefusesMoreRotaryThanAHeadHas) {
  const Checkpoint checkpoint = test::small_checkpoint().set("rotary_dim", 4).make();
  SmallSpec spec;
  spec.attention.append("\n[attention.rotary]\nsize = \"= rotary_dim\"");
  EXPECT_THAT(spec.resolve(checkpoint),
              FailsWith(ModelErrc::kBadConfig, "attention.rotary.size = rotary_dim: 4 is not in"));
}

TEST(ArchitectureTest, RefusesHeadsThatDoNotTurnInPairs) {
  EXPECT_THAT(resolve(llama().set("head_dim", 7)),
              FailsWith(ModelErrc::kBadConfig, "attention.rotary.size: 7 is not even"));
}

TEST(ArchitectureTest, RefusesNumbersThatAreNone) {
  SmallSpec spec;
  spec.attention.append("\n[attention.rotary]\ntheta = nan");
  EXPECT_THAT(spec.resolve(test::small_checkpoint().make()),
              FailsWith(ModelErrc::kBadConfig, "attention.rotary.theta"));
  spec.attention.append("\nsize = \"= log(0)\"");
  EXPECT_FALSE(spec.resolve(test::small_checkpoint().make()));
}

SmallSpec with_experts(const std::string& fields) {
  SmallSpec spec;
  spec.mlp.append("\n[mlp.experts]\nsize = 3\nrouter_tensor = 'router'\n").append(fields);
  return spec;
}

TEST(ArchitectureTest, RefusesExpertsThatCannotBeChosen) {
  const Checkpoint checkpoint = test::small_checkpoint().make();
  const auto error_of = [&](const std::string& fields, const char* detail) {
    EXPECT_THAT(with_experts(fields).resolve(checkpoint), FailsWith(ModelErrc::kBadConfig, detail))
        << fields;
  };
  error_of("count = 4\nchosen = 5", "mlp.experts.chosen: 5 is not in");
  error_of("count = 4\nchosen = 0", "mlp.experts.chosen: 0 is not in");
  error_of("count = 4\nchosen = 1\ngroups = 3", "4 experts are no whole groups");
  error_of("count = 4\nchosen = 3\ngroups = 2\nchosen_groups = 1",
           "more than the chosen groups have");
  error_of("count = 4\nchosen = 1\ngroups = 2\ngroup_best = 3", "group_best");
  error_of("chosen = 1", "mlp.experts.count: is missing");
  // kMaxExperts is the most that a device can route.
  error_of("count = " + std::to_string(kMaxExperts + 1) + "\nchosen = 1", "mlp.experts.count");
}

TEST(ArchitectureTest, ReadsTheKeysOfTheLastLayerBeforeThatMakesSuchKeys) {
  SmallSpec spec;
  spec.layers = 5;
  spec.top = "each_layer = { slides = \"= layer % 2 == 0\", owns = \"= layer < 3\" }";
  spec.attention.append("\nwindow = \"= slides ? 4 : 0\"\nown_kv = \"= owns\"");
  const Architecture model = spec.resolve(test::small_checkpoint().make()).value();
  std::vector<int> from;
  for (const LayerBlock& layer : model.decoder.layers) from.push_back(layer.attention()->kv_from);
  EXPECT_THAT(from, ElementsAre(-1, -1, -1, 1, 2));
  spec.top = "each_layer = { slides = \"= layer == 3\", owns = \"= layer < 3\" }";
  EXPECT_THAT(
      spec.resolve(test::small_checkpoint().make()),
      FailsWith(ModelErrc::kBadConfig, "attention.own_kv = owns: no layer before has keys"));
}

TEST(ArchitectureTest, AttentionMayBeAbsentFromSomeLayersAndNotFromAll) {
  SmallSpec spec;
  spec.layers = 3;
  spec.attention.append("\npresent = \"= layer != 1\"");
  const Architecture model = spec.resolve(test::small_checkpoint().make()).value();
  std::vector<bool> has;
  for (const LayerBlock& layer : model.decoder.layers) has.push_back(layer.attention() != nullptr);
  EXPECT_THAT(has, ElementsAre(true, false, true));
  EXPECT_FALSE(model.decoder.layers[1].mixer_residual.norm_in.present);
  SmallSpec none;
  none.attention.append("\npresent = false");
  EXPECT_THAT(none.resolve(test::small_checkpoint().make()),
              FailsWith(ModelErrc::kBadConfig, "attention: is present in no layer"));
}

TEST(ArchitectureTest, RefusesScalesAndNormsOfWhatIsNotThere) {
  SmallSpec spec;
  spec.mlp.append("\nsum_scale = 0.5");
  EXPECT_THAT(spec.resolve(test::small_checkpoint().make()),
              FailsWith(ModelErrc::kBadConfig, "mlp.sum_scale: needs norm_out"));
  EXPECT_THAT(
      with_experts("count = 4\nchosen = 1\nnorm_out = {}").resolve(test::small_checkpoint().make()),
      FailsWith(ModelErrc::kBadConfig, "mlp.experts.norm_out: needs shared.norm_out"));
}

TEST(ArchitectureTest, RefusesWhatASpecDoesNotDo) {
  const auto model = resolve(CheckpointBuilder(
      R"({"model_type": "gemma3_text", "vocab_size": 32, "hidden_size": 64, "num_hidden_layers": 1,
          "intermediate_size": 96, "use_bidirectional_attention": true})"));
  EXPECT_THAT(model, FailsWith(ModelErrc::kBadConfig,
                               "requires = not use_bidirectional_attention: this model has "
                               "use_bidirectional_attention = true"));
}

TEST(ArchitectureTest, OfAnEncoderHasTheHeadThatItsSpecStates) {
  SmallSpec spec;
  spec.top = "kind = 'encoder'";
  EXPECT_TRUE(spec.resolve(test::small_checkpoint().make())->head.present);
  spec.head = "present = \"= has('model.transform.weight')\"";
  EXPECT_FALSE(spec.resolve(test::small_checkpoint().make())->head.present);
}

/// A BERT of one layer, by its config alone.
CheckpointBuilder bert() {
  return CheckpointBuilder(R"({"model_type": "bert", "vocab_size": 8, "hidden_size": 4,
      "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4,
      "max_position_embeddings": 8})");
}

TEST(ArchitectureTest, OfAnEncoderHasAHeadWhereItsFilesHaveOne) {
  EXPECT_FALSE(resolve(bert())->head.present);
  const auto masked = resolve(bert().tensor("cls.predictions.transform.dense.weight", {4, 4}));
  ASSERT_TRUE(masked) << to_string(masked.error());
  EXPECT_TRUE(masked->head.present);
  EXPECT_TRUE(masked->head.tied);
  EXPECT_EQ(masked->kind, ModelKind::kEncoder);
}

TEST(ArchitectureTest, ComputesEachLayersOwnValues) {
  SmallSpec spec;
  spec.top = "each_layer = { late = \"= layer > 0\", size = \"= late ? 5 : 0\" }";
  spec.layers = 3;
  spec.attention.append("\nwindow = \"= size\"");
  const Architecture model = spec.resolve(test::small_checkpoint().make()).value();
  EXPECT_THAT(windows_of(model), ElementsAre(0, 5, 5));
}

TEST(ArchitectureTest, SlidesInTheLayersThatTheConfigNames) {
  const Architecture model =
      resolve(CheckpointBuilder(
                  R"({"model_type": "gemma2", "vocab_size": 32, "hidden_size": 64,
                      "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                      "head_dim": 16, "intermediate_size": 96, "sliding_window": 7,
                      "layer_types": ["full_attention", "sliding_attention", "full_attention"]})"))
          .value();
  EXPECT_THAT(windows_of(model), ElementsAre(0, 7, 0));
}

TEST(ArchitectureTest, RefusesAListWithTooFewLayers) {
  const auto model = resolve(CheckpointBuilder(
      R"({"model_type": "gemma2", "vocab_size": 32, "hidden_size": 64, "num_hidden_layers": 3,
          "num_attention_heads": 4, "head_dim": 16, "intermediate_size": 96,
          "layer_types": ["full_attention"]})"));
  EXPECT_THAT(model, FailsWith(ModelErrc::kBadConfig, "an index below 1"));
}

TEST(ArchitectureTest, LooksIntoTheConfigOfAWrapper) {
  const Architecture model =
      resolve(CheckpointBuilder(
                  R"({"model_type": "gemma3", "eos_token_id": 9, "hidden_size": 1,
                      "text_config": {"vocab_size": 32, "hidden_size": 64,
                                      "num_hidden_layers": 1, "intermediate_size": 96}})"))
          .value();
  EXPECT_EQ(model.hidden, 64);
  EXPECT_THAT(model.end_tokens, ElementsAre(9));
}

TEST(ArchitectureTest, MakesAnEncoderOfTheDecodersTables) {
  const Checkpoint checkpoint =
      open_checkpoint(test::source_path("tests/model/data/goldens/t5")).value();
  const Architecture model =
      resolve_architecture(find_spec(checkpoint).value(), checkpoint).value();
  ASSERT_TRUE(model.encoder.has_value());
  EXPECT_FALSE(model.encoder->causal);
  EXPECT_FALSE(model.encoder->layers.at(0).has_cross);
  EXPECT_TRUE(model.decoder.causal);
  EXPECT_TRUE(model.decoder.layers.at(0).has_cross);
  EXPECT_EQ(model.encoder->layers[0].attention()->shape.heads,
            model.decoder.layers[0].attention()->shape.heads);
}

TEST(ArchitectureTest, ReadsAGgufByItsOwnNames) {
  const Checkpoint checkpoint =
      CheckpointBuilder(R"({"general.architecture": "llama", "llama.embedding_length": 64,
          "llama.block_count": 2, "llama.context_length": 128, "llama.feed_forward_length": 96,
          "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.attention.head_count": 8,
          "llama.attention.head_count_kv": 2, "tokenizer.ggml.eos_token_id": 2})")
          .tensor("token_embd.weight", {32, 64})
          .make(CheckpointFormat::kGguf);
  const Architecture model =
      resolve_architecture(find_spec(checkpoint).value(), checkpoint).value();
  EXPECT_EQ(model.vocabulary, 32);
  EXPECT_EQ(model.decoder.layers.at(1).attention()->rotary_spec.style, RotaryStyle::kInterleaved);
  EXPECT_THAT(model.decoder.layers[1].attention()->out.tensor, ElementsAre("blk.1.attn_output"));
  EXPECT_TRUE(model.head.tied);
}

TEST(ArchitectureTest, ReadsScalingOfATableWithoutItsNulls) {
  const Spec spec = Spec::parse(R"(
      name = 'mine'
      vocabulary = 4
      hidden = 8
      context = 16
      layers = 1
      embedding = { tensor = 'e' }
      mlp = { size = 4 }
      [attention]
      heads = 1
      [attention.rotary.scaling]
      rope_type = 'linear'
      factor = '= stretch'
      beta_fast = '= missing')",
                                "mine.toml")
                        .value();
  const Checkpoint checkpoint = CheckpointBuilder(R"({"stretch": 4})").make();
  const Architecture model = resolve_architecture(spec, checkpoint).value();
  EXPECT_EQ(model.decoder.rotary.at(0).scaling,
            boost::json::parse(R"({"rope_type": "linear", "factor": 4})"));
}

TEST(ArchitectureTest, ReadsAGgufByASpecOfItsNamesAsItStands) {
  const Spec spec = Spec::parse(R"(
      name = 'mine'
      vocabulary = '= arch.rows'
      hidden = 8
      context = 16
      layers = 1
      embedding = { tensor = 'my_table' }
      mlp = { size = 4 }
      attention = { heads = 1 })",
                                "mine.toml")
                        .value();
  const Checkpoint checkpoint =
      CheckpointBuilder(R"({"general.architecture": "odd", "odd.rows": 6, "odd.block_count": 9})")
          .make(CheckpointFormat::kGguf);
  const Architecture model = resolve_architecture(spec, checkpoint).value();
  EXPECT_EQ(model.vocabulary, 6);
  EXPECT_THAT(model.decoder.layers, testing::SizeIs(1));
  EXPECT_THAT(model.decoder.embedding.tensor, ElementsAre("my_table"));
}

TEST(ArchitectureTest, NamesTheFieldThatAGgufLacks) {
  const Checkpoint checkpoint =
      CheckpointBuilder(R"({"general.architecture": "llama", "llama.embedding_length": 64})")
          .tensor("token_embd.weight", {32, 64})
          .make(CheckpointFormat::kGguf);
  EXPECT_THAT(resolve_architecture(find_spec(checkpoint).value(), checkpoint),
              FailsWith(ModelErrc::kBadConfig, "context = arch.context_length: is missing"));
}

}  // namespace
}  // namespace weft
