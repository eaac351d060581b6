#include "weft/model/spec/wrapped_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/program/program.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/files/checkpoint_builder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::CheckpointBuilder;
using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Architecture> resolve(std::string_view config) {
  const Checkpoint checkpoint = CheckpointBuilder(config).make();
  const auto spec = find_spec(checkpoint);
  if (!spec) return spec.error();
  return resolve_architecture(*spec, checkpoint);
}

Checkpoint golden(const std::string& name) {
  return open_checkpoint(test::source_path("tests/model/data/goldens/") + name).value();
}

/// What a checkpoint is compiled to, in words that outlive the checkpoint.
struct Compiled {
  std::string text;
  std::vector<std::string> unused_tensors;
  std::int64_t parameters = 0;
};

Result<Compiled> compiled(const Checkpoint& checkpoint) {
  const auto spec = find_spec(checkpoint);
  if (!spec) return spec.error();
  const auto architecture = resolve_architecture(*spec, checkpoint);
  if (!architecture) return architecture.error();
  const auto program = compile(*architecture, checkpoint);
  if (!program) return program.error();
  // The first op names the table of the embedding as the file does.
  const std::string text = describe(*program);
  return Compiled{text.substr(text.find('\n', text.find("embed "))), program->unused_tensors,
                  program->parameters};
}

/// The checkpoint with `to` in place of `from` where a tensor's name begins with it.
Checkpoint renamed(const Checkpoint& checkpoint,
                   const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<CheckpointTensor> tensors;
  for (CheckpointTensor tensor : checkpoint.tensors()) {
    for (const auto& [from, to] : changes) {
      if (!tensor.name.starts_with(from)) continue;
      tensor.name = to + tensor.name.substr(from.size());
      break;
    }
    tensors.push_back(std::move(tensor));
  }
  return checkpoint.with_tensors(std::move(tensors)).value();
}

TEST(WrappedSpecTest, IsReadAsTheTextModelsFamily) {
  const Checkpoint checkpoint = golden("llava");
  const Spec spec = find_spec(checkpoint).value();
  EXPECT_EQ(spec.name(), "llama");
  EXPECT_EQ(spec.file(), "llama.toml in text_half.toml");
  EXPECT_EQ(resolve_architecture(spec, checkpoint).value().family, "llama");
}

// The config of llava-hf/llava-1.5-7b-hf.
TEST(WrappedSpecTest, FillsInWhatAConfigOfLlama2LeavesOut) {
  const Architecture model = resolve(R"({"model_type": "llava", "text_config": {
      "model_type": "llama", "max_position_embeddings": 4096, "rms_norm_eps": 1e-05,
      "vocab_size": 32064}, "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24}})")
                                 .value();
  EXPECT_EQ(model.vocabulary, 32064);
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.decoder.layers.size(), 32U);
  EXPECT_EQ(model.decoder.layers[0].attention()->shape.kv_heads, 32);
  EXPECT_EQ(model.decoder.layers[0].mlp.dense.size, 11008);
  EXPECT_THAT(model.end_tokens, ElementsAre(2));
}

// The config of llava-hf/llava-v1.6-mistral-7b-hf.
TEST(WrappedSpecTest, FillsInWhatAConfigOfMistralLeavesOut) {
  const Architecture model = resolve(R"({"model_type": "llava_next", "text_config": {
      "model_type": "mistral", "intermediate_size": 14336, "max_position_embeddings": 32768,
      "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
      "sliding_window": null, "vocab_size": 32064}})")
                                 .value();
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.decoder.layers.size(), 32U);
  EXPECT_EQ(model.decoder.layers[0].attention()->shape.heads, 32);
  EXPECT_EQ(model.decoder.layers[0].attention()->spec.window, 0);
  EXPECT_EQ(model.decoder.rotary.at(0).theta, 1000000);
}

TEST(WrappedSpecTest, FillsInAllSizesOfLlama2) {
  const Architecture model =
      resolve(R"({"model_type": "llava", "text_config": {"model_type": "llama"}})").value();
  EXPECT_EQ(model.vocabulary, 32000);
  EXPECT_EQ(model.decoder.layers[0].attention()->shape.head_size, 128);
}

TEST(WrappedSpecTest, FillsInNothingForAnotherFamily) {
  EXPECT_THAT(resolve(R"({"model_type": "llava", "text_config": {"model_type": "qwen2",
                          "vocab_size": 32, "num_hidden_layers": 2}})"),
              FailsWith(ModelErrc::kBadConfig, "hidden"));
}

TEST(WrappedSpecTest, TiesAHeadOnlyWhereTheFamilysOwnHeadIsMissing) {
  CheckpointBuilder builder(R"({"model_type": "internvl", "text_config": {
      "model_type": "internlm2", "vocab_size": 8, "hidden_size": 4, "num_hidden_layers": 1,
      "num_attention_heads": 1, "intermediate_size": 8, "rms_norm_eps": 1e-05,
      "tie_word_embeddings": false}})");
  const auto is_tied = [&] {
    const Checkpoint checkpoint = builder.make();
    return resolve_architecture(find_spec(checkpoint).value(), checkpoint).value().head.tied;
  };
  EXPECT_TRUE(is_tied());
  builder.tensor("language_model.output.weight", {8, 4});
  EXPECT_FALSE(is_tied());
}

struct Named {
  const char* wrapper;
  std::vector<std::pair<std::string, std::string>> changes;  ///< of llava's names
};

TEST(WrappedSpecTest, FindsTheTextModelsTensorsByEveryName) {
  const Checkpoint llava = golden("llava");
  const std::string wanted = compiled(llava).value().text;
  const std::string text = "language_model.model.";
  const std::string head = "language_model.lm_head";
  for (const Named& each : std::vector<Named>{
           {"llava in memory", {{text, "model.language_model."}, {head, "lm_head"}}},
           {"idefics3", {{text, "model.text_model."}, {head, "lm_head"}}},
           {"emu3", {{text, "text_model.model."}, {head, "text_model.lm_head"}}},
           {"qwen2_vl", {{text, "model."}, {head, "lm_head"}, {"vision_tower.", "visual."}}},
           {"qwen3_vl",
            {{text, "model.language_model."}, {head, "lm_head"}, {"vision_", "model.visual."}}}}) {
    const auto program = compiled(renamed(llava, each.changes));
    ASSERT_TRUE(program) << each.wrapper << ": " << to_string(program.error());
    EXPECT_EQ(program->text, wanted) << each.wrapper;
    EXPECT_THAT(program->unused_tensors, IsEmpty()) << each.wrapper;
  }
}

TEST(WrappedSpecTest, MissesATensorOfTheTextModel) {
  const auto program = compiled(renamed(
      golden("llava"), {{"language_model.model.layers.1.mlp.up_proj", "vision_tower.up_proj"}}));
  EXPECT_THAT(program, FailsWith(ModelErrc::kMissingTensor, "model.layers.1.mlp.up_proj.weight"));
}

TEST(WrappedSpecTest, ListsATensorThatNeitherHalfKnows) {
  const auto program = compiled(
      renamed(golden("llava"), {{"multi_modal_projector.linear_1.bias", "language_model.odd"}}));
  EXPECT_THAT(program.value().unused_tensors, ElementsAre("language_model.odd"));
}

// A text model's own config states for some models that its head is tied, where the file has one.
TEST(WrappedSpecTest, UsesTheHeadThatAFileHas) {
  const Checkpoint llava = golden("llava");
  boost::json::value config = llava.config();
  config.as_object()["text_config"].as_object()["tie_word_embeddings"] = true;
  const Checkpoint stated =
      Checkpoint::make(CheckpointFormat::kSafetensors, llava.path(), config,
                       {llava.tensors().begin(), llava.tensors().end()}, nullptr)
          .value();
  // A tied head has no numbers of its own.
  EXPECT_EQ(compiled(stated).value().parameters, compiled(llava).value().parameters);
}

TEST(WrappedSpecTest, NamesATextModelThatNoSpecClaims) {
  EXPECT_THAT(resolve(R"({"model_type": "llava", "text_config": {"model_type": "odd"}})"),
              FailsWith(ModelErrc::kUnknownModel, R"(the text model's model_type "odd")"));
}

TEST(WrappedSpecTest, DoesNotTakeAWrapperForTheTextModel) {
  EXPECT_THAT(resolve(R"({"model_type": "llava", "text_config": {"model_type": "llava"}})"),
              FailsWith(ModelErrc::kUnknownModel, R"(the text model's model_type "llava")"));
}

TEST(WrappedSpecTest, RefusesATypeThatIsNoText) {
  EXPECT_THAT(resolve(R"({"model_type": "llava", "text_config": {"model_type": 3}})"),
              FailsWith(ModelErrc::kBadConfig, "made-model read by text_half.toml: wraps"));
}

TEST(WrappedSpecTest, IsReadOfAFileToo) {
  const test::TempFolder folder;
  const auto path = folder.write("mine.toml",
                                 "name = 'mine'\nwraps = \"= inner.model_type\"\n"
                                 "config_root = 'inner'\noptional_prefixes = ['text.']");
  const Checkpoint checkpoint =
      CheckpointBuilder(R"({"model_type": "mine", "inner": {"model_type": "qwen3"}})").make();
  const Spec spec = spec_from(path, checkpoint).value();
  EXPECT_EQ(spec.name(), "qwen3");
  EXPECT_EQ(spec.tree().at("optional_prefixes"), boost::json::parse(R"(["model.", "text."])"));
  EXPECT_THAT(spec.file(), HasSubstr("qwen3.toml in "));
}

}  // namespace
}  // namespace weft
