#include "weft/model/vectors/read_vector_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/model/model_error.h"
#include "weft/model/open_model.h"
#include "weft/model/vectors/vector_model.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::FailsWith;
using testing::ElementsAre;

using Read = Result<std::shared_ptr<const VectorModel>>;

Read read(const fs::path& folder) {
  const OpenedModel opened = open_model(folder).value();
  return read_vector_model(*opened.architecture, *opened.checkpoint);
}

fs::path golden(const std::string& name) {
  return test::source_path("tests/model/data/vectors/" + name);
}

/// A copy of a golden model, to be spoilt.
class ReadVectorModel : public testing::Test {
 protected:
  void copy(const std::string& name) {
    fs::copy(golden(name), folder_.path(), fs::copy_options::recursive);
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_.path() / file) << text;
  }
  [[nodiscard]] Read read_copy() const { return read(folder_.path()); }

  test::TempFolder folder_;
};

TEST_F(ReadVectorModel, TakesPoolingAndLayersFromTheModules) {
  const auto mean = read(golden("bert-mean")).value();
  EXPECT_EQ(mean->pooling, PoolingKind::kMean);
  EXPECT_TRUE(mean->gives_unit_vectors());
  EXPECT_EQ(mean->max_tokens, 20);
  const auto dense = read(golden("roberta-dense")).value();
  EXPECT_EQ(dense->pooling, PoolingKind::kCls) << "by the fields of before version 6";
  EXPECT_EQ(dense->size(), 8);
  EXPECT_FALSE(dense->gives_unit_vectors());
  EXPECT_EQ(dense->max_tokens, 64);
}

TEST_F(ReadVectorModel, TakesTheSpecsPoolingWhereThereAreNoModules) {
  const auto plain = read(golden("xlm-roberta-plain")).value();
  EXPECT_EQ(plain->pooling, PoolingKind::kMean);
  EXPECT_TRUE(plain->gives_unit_vectors());
  EXPECT_EQ(read(test::source_path("examples/demo_model/model")).value()->pooling,
            PoolingKind::kLast);
  copy("xlm-roberta-plain");
  std::string spec =
      read_text_file(test::source_path("config/models/roberta.toml"), kAnySize).value();
  write("weft.toml", spec + "[pooling]\nkind = \"cls\"\nnormalize = false\n");
  const auto told = read_copy().value();
  EXPECT_EQ(told->pooling, PoolingKind::kCls);
  EXPECT_FALSE(told->gives_unit_vectors());
}

TEST_F(ReadVectorModel, AClassifierHasItsLabelsAndTheirActivation) {
  const auto reranker = read(golden("bert-reranker")).value();
  EXPECT_TRUE(reranker->scores);
  EXPECT_EQ(reranker->pooling, PoolingKind::kCls);
  EXPECT_EQ(reranker->activation, ScoreActivation::kSigmoid);
  const auto classifier = read(golden("llama-classifier")).value();
  EXPECT_EQ(classifier->pooling, PoolingKind::kLast);
  EXPECT_EQ(classifier->activation, ScoreActivation::kSoftmax);
  EXPECT_THAT(classifier->labels, ElementsAre("LABEL_0", "LABEL_1"));
}

TEST_F(ReadVectorModel, TakesTheActivationThatTheCrossEncoderNoted) {
  copy("bert-reranker");
  const std::string config = read_text_file(folder_.path() / "config.json", kAnySize).value();
  write("config.json",
        R"({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",)" +
            config.substr(1));
  EXPECT_EQ(read_copy().value()->activation, ScoreActivation::kNone);
}

TEST_F(ReadVectorModel, AModelWithEncoderAndDecoderGivesNone) {
  EXPECT_EQ(read(test::source_path("tests/model/data/goldens/bart")).value(), nullptr);
}

TEST_F(ReadVectorModel, RefusesModulesThatItDoesNotKnow) {
  copy("bert-mean");
  write("modules.json", "[{\"path\": \"\", \"type\": \"some.module.WordWeights\"}]");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "some.module.WordWeights"));
  write("modules.json", "{}");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "is no list"));
  write("modules.json", "[1]");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "a module is no object"));
  write("modules.json", "[");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "modules.json"));
}

TEST_F(ReadVectorModel, TakesThePromptsOfSentenceTransformers) {
  copy("bert-mean");
  const std::string file = "config_sentence_transformers.json";
  write(file, R"({"prompts": {"query": "find: ", "document": ""}, "default_prompt_name": null})");
  using Prompt = std::pair<std::string, std::string>;
  EXPECT_THAT(read_copy().value()->prompts,
              ElementsAre(Prompt("query", "find: "), Prompt("document", "")));
  write(file, R"({"prompts": null})");
  EXPECT_TRUE(read_copy().value()->prompts.empty());
  write(file, R"({"prompts": {"query": 5}})");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "prompts.query: is no text"));
  write(file, R"({"prompts": []})");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "prompts: is no object"));
}

TEST_F(ReadVectorModel, NoModuleLeadsOutOfTheFolder) {
  copy("bert-mean");
  for (const char* path : {"../elsewhere", "/etc", "1_Pooling/../../x"}) {
    write("modules.json", "[{\"path\": \"" + std::string(path) + "\", \"type\": \"a.Pooling\"}]");
    EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "leads out of the folder"));
  }
}

TEST_F(ReadVectorModel, RefusesPoolingThatItDoesNotKnow) {
  copy("bert-mean");
  write("1_Pooling/config.json", R"({"pooling_mode": "attention"})");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "\"attention\" is not supported"));
  write("1_Pooling/config.json",
        R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "together are not supported"));
  write("1_Pooling/config.json", "{}");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "no pooling mode"));
  fs::remove(folder_.path() / "1_Pooling/config.json");
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kBadConfig, "is missing"));
}

TEST_F(ReadVectorModel, RefusesALayerWhoseTensorIsNotThere) {
  copy("roberta-dense");
  fs::copy_file(folder_.path() / "model.safetensors", folder_.path() / "2_Dense/model.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(read_copy(), FailsWith(ModelErrc::kMissingTensor, "linear.weight"));
}

}  // namespace
}  // namespace weft
