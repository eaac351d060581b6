#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "weft/model/adapters/adapted_checkpoint.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"
#include "weft/model/open_model.h"
#include "weft/tests/fixture/peft_folder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::FailsWith;
using test::FilledTensor;
using test::kQuery;
using test::kQueryConfig;
using test::pair_of;
using test::PeftFolder;
using testing::ElementsAre;
using testing::HasSubstr;

fs::path data(const char* name) { return fs::path(test::source_path("tests/model/data")) / name; }

Result<OpenedModel> with(const fs::path& adapter, const char* base = "goldens/llama") {
  return open_model(data(base), {}, {}, adapter);
}

std::vector<float> numbers_of(const OpenedModel& model, const std::string& tensor) {
  const CheckpointTensor& found = *model.checkpoint->find(tensor);
  std::vector<float> values(static_cast<std::size_t>(found.shape[0] * found.shape.back()));
  read_values(found, 0, 1, values).value();
  return values;
}

TEST(BindAdapterTest, KeepsPairsApartAsTheNextStageNeedsThem) {
  const OpenedModel model = with(data("adapters/llama")).value();
  const Adapter& adapter = *model.adapter;
  ASSERT_EQ(adapter.targets.size(), 14U);
  const AdapterTarget& target = adapter.targets.front();
  EXPECT_EQ(target.tensor, "model.layers.0.mlp.down_proj.weight");
  EXPECT_EQ(target.expert, -1);
  EXPECT_EQ(std::ssize(target.a), target.rank * target.inputs);
  EXPECT_EQ(std::ssize(target.b), target.outputs * target.rank);
}

TEST(BindAdapterTest, AddsTheScaledProductToEachNumber) {
  const PeftFolder folder(kQueryConfig, pair_of(kQuery, 16, 8, 2));
  const std::string tensor = std::string(kQuery) + ".weight";
  const std::vector<float> before = numbers_of(open_model(data("goldens/llama")).value(), tensor);
  const std::vector<float> after = numbers_of(with(folder.path()).value(), tensor);
  // 3 / 2 * (1 * 1 + 1 * 1), and a rounding to f16.
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i] + 3, 2e-3);
}

TEST(BindAdapterTest, RefusesWhatTheBaseLacksOrHasInAnotherShape) {
  const PeftFolder wide(kQueryConfig, pair_of(kQuery, 16, 12, 2));
  EXPECT_THAT(with(wide.path()), FailsWith(ModelErrc::kBadAdapter, "16 outputs and 12 inputs"));
  const PeftFolder layer(kQueryConfig, pair_of("model.layers.99.self_attn.q_proj", 16, 8, 2));
  EXPECT_THAT(with(layer.path()), FailsWith(ModelErrc::kBadAdapter,
                                            "no tensor 'model.layers.99.self_attn.q_proj.weight'"));
}

TEST(BindAdapterTest, RefusesNumbersThatAreNoneAndNamesTheirPlace) {
  auto tensors = pair_of(kQuery, 16, 8, 2);
  tensors[1].value = std::numeric_limits<float>::quiet_NaN();
  const PeftFolder nan(kQueryConfig, tensors);
  EXPECT_THAT(with(nan.path()), FailsWith(ModelErrc::kBadAdapter, "lora_B.weight': its number 0"));
  const PeftFolder huge(R"({"r": 2, "lora_alpha": 1e300, "target_modules": ["q_proj"]})",
                        pair_of(kQuery, 16, 8, 2));
  EXPECT_THAT(with(huge.path()), FailsWith(ModelErrc::kBadAdapter, "scale is not finite"));
}

TEST(BindAdapterTest, SaysWhichRowLeavesTheRangeOfTheBasesType) {
  const PeftFolder huge(R"({"r": 2, "lora_alpha": 1e6, "target_modules": ["q_proj"]})",
                        pair_of(kQuery, 16, 8, 2));
  const OpenedModel model = with(huge.path()).value();
  const CheckpointTensor& tensor = *model.checkpoint->find(std::string(kQuery) + ".weight");
  std::vector<std::byte> bytes(tensor.size);
  EXPECT_THAT(
      tensor.read(0, bytes),
      FailsWith(ModelErrc::kBadAdapter, "row 0 with the adapter is beyond the range of f16"));
}

TEST(BindAdapterTest, RefusesAHeadThatIsTheEmbeddingToo) {
  const PeftFolder folder(R"({"r": 2, "target_modules": ["wte"]})",
                          {{"base_model.model.transformer.wte.lora_embedding_A", {2, 24}},
                           {"base_model.model.transformer.wte.lora_embedding_B", {16, 2}}});
  EXPECT_THAT(with(folder.path(), "goldens/gpt2"),
              FailsWith(ModelErrc::kBadAdapter, "which is the head too"));
  const PeftFolder head(R"({"r": 2, "target_modules": ["lm_head"]})",
                        pair_of("lm_head", 24, 16, 2));
  EXPECT_THAT(with(head.path(), "goldens/gpt2"),
              FailsWith(ModelErrc::kBadAdapter, "its head is its embedding"));
}

TEST(BindAdapterTest, RefusesWhatTheConfigAsksForAndIsNotSupported) {
  const PeftFolder folder(
      R"({"r": 2, "target_modules": ["q_proj"], "alora_invocation_tokens": [5]})",
      pair_of(kQuery, 16, 8, 2));
  EXPECT_THAT(with(folder.path()), FailsWith(ModelErrc::kBadAdapter, "alora_invocation_tokens: "));
}

TEST(BindAdapterTest, RefusesEncodedWeightsAndSaysWhatToDo) {
  const PeftFolder folder(R"({"r": 2, "target_modules": ["q_proj"]})",
                          pair_of(kQuery, 128, 128, 2));
  EXPECT_THAT(with(folder.path(), "quantized/gptq4"),
              FailsWith(ModelErrc::kBadAdapter, "encode it by --weights"));
}

TEST(BindAdapterTest, RefusesAnAdapterOfTheOtherFormatAndSaysWhatToDo) {
  EXPECT_THAT(with(data("adapters/llama"), "goldens_gguf/llama"),
              FailsWith(ModelErrc::kBadAdapter, "convert_lora_to_gguf.py"));
  EXPECT_THAT(with(data("adapters/llama-gguf/adapter.gguf")),
              FailsWith(ModelErrc::kBadAdapter, "the adapter's PEFT folder"));
}

TEST(BindAdapterTest, WarnsOfAnotherBaseThanItWasTrainedOn) {
  const PeftFolder folder(
      R"({"r": 2, "target_modules": ["q_proj"], "base_model_name_or_path": "someone/other"})",
      pair_of(kQuery, 16, 8, 2));
  EXPECT_THAT(with(folder.path()).value().adapter->warnings,
              ElementsAre(HasSubstr("was trained on 'someone/other'")));
}

TEST(BindAdapterTest, AnAdapterGivenAsModelSaysWhatToDo) {
  for (const char* const name : {"adapters/llama", "adapters/llama-gguf/adapter.gguf"}) {
    EXPECT_THAT(open_model(data(name)), FailsWith(ModelErrc::kBadAdapter, "by --adapter")) << name;
  }
}

TEST(BindAdapterTest, IsEncodedAfterTheMerge) {
  const OpenedModel model =
      open_model(data("goldens/llama"), {}, "bf16", data("adapters/llama")).value();
  EXPECT_EQ(model.checkpoint->find(std::string(kQuery) + ".weight")->dtype, DType::kBF16);
}

}  // namespace
}  // namespace weft
