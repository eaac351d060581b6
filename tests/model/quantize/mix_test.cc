// llama.cpp's mixes: which type each tensor gets.

#include "weft/model/quantize/mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/model_error.h"
#include "weft/model/open_model.h"
#include "weft/model/quantize/mix_plan.h"
#include "weft/model/quantize/mix_rules.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace json = boost::json;

using test::FailsWith;

/// The models and types that make_mixes.py had llama.cpp choose.
const json::object& llama_cpps_choices() {
  static const json::value table = json::parse(
      read_text_file(test::source_path("tests/model/data/mixes.json"), kAnySize).value());
  return table.get_object();
}

/// The tensor's names: one, or that of each layer.
std::vector<std::string> names_of(std::string_view tensor, const json::value& model) {
  const std::size_t star = tensor.find('*');
  if (star == std::string_view::npos) return {std::string(tensor)};
  std::vector<std::string> names;
  for (std::int64_t layer = 0; layer < model.at("layers").to_number<std::int64_t>(); ++layer) {
    names.push_back(std::string(tensor).replace(star, 1, std::to_string(layer)));
  }
  return names;
}

std::vector<MixTensor> tensors_of(const json::value& model) {
  std::vector<MixTensor> tensors;
  for (const auto& [name, shape] : model.at("tensors").as_object()) {
    for (std::string& one : names_of(name, model)) {
      tensors.push_back({std::move(one), json::value_to<std::vector<std::int64_t>>(shape)});
    }
  }
  return tensors;
}

/// "q6_k 2, q4_k 1" as three names, "q6_k" as one.
std::vector<std::string> unfolded(const std::string& runs) {
  std::vector<std::string> types;
  std::istringstream text(runs);
  std::string type;
  while (text >> type) {
    std::size_t count = 1;
    text >> count;
    text.ignore(1);
    types.insert(types.end(), count, type);
  }
  return types;
}

/// Compares one choice of llama.cpp's with ours. Returns the matrices it compared.
std::size_t expect_same_types(const json::value& model, std::string_view number,
                              const json::value& choice) {
  const Mix* mix = mix_numbered(static_cast<std::uint32_t>(std::stoul(std::string(number))));
  if (mix == nullptr) {
    ADD_FAILURE() << "no mix has the number " << number;
    return 0;
  }
  const auto types = mix_types({mix->id, false, number.ends_with('i')},
                               mix_model(model.at("config")), tensors_of(model));
  std::size_t compared = 0;
  for (const auto& [tensor, shape] : model.at("tensors").as_object()) {
    if (shape.as_array().size() < 2) continue;
    const std::vector<std::string> names = names_of(tensor, model);
    std::vector<std::string> wanted(names.size(), std::string(choice.at("own").as_string()));
    if (const auto* runs = choice.as_object().if_contains(tensor))
      wanted = unfolded(std::string(runs->as_string()));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = types.find(names[i]);
      // The models' matrices are f16.
      const auto own = found == types.end() ? "f16" : to_string(found->second);
      EXPECT_EQ(own, wanted.at(i)) << mix->name << " " << names[i];
      ++compared;
    }
  }
  return compared;
}

TEST(Mix, GivesEveryTensorTheTypeThatLlamaCppGivesIt) {
  for (const auto& [name, model] : llama_cpps_choices()) {
    SCOPED_TRACE(std::string(name));
    std::size_t compared = 0;
    for (const auto& [number, choice] : model.at("types").as_object()) {
      compared += expect_same_types(model, number, choice);
    }
    EXPECT_GT(compared, 500U);
  }
}

TEST(Mix, IsKnownByItsNamesAndItsNumber) {
  for (const Mix& mix : mixes()) {
    EXPECT_EQ(mix_named(mix.name), &mix);
    EXPECT_EQ(mix_numbered(mix.file_type), &mix);
    EXPECT_EQ(&mix_of(mix.id), &mix);
  }
  EXPECT_EQ(mix_named("q4_k"), &mix_of(MixId::kQ4_K_M));
  EXPECT_EQ(mix_named(""), nullptr);
  EXPECT_EQ(mix_named("q4_k_l"), nullptr);
  EXPECT_EQ(mix_numbered(4), nullptr);
}

MixTensor matrix(const char* name, std::int64_t inputs) { return {name, {64, inputs}}; }

TEST(Mix, TakesF16WhereRowsAreNoBlocksOf32) {
  const std::vector<MixTensor> tensors = {matrix("output.weight", 40),
                                          matrix("blk.0.ffn_down.weight", 688),
                                          matrix("blk.0.attn_k.weight", 96)};
  for (const MixId id : {MixId::kQ4_0, MixId::kQ8_0, MixId::kMXFP4_MOE, MixId::kQ4_K_M,
                         MixId::kIQ4_NL, MixId::kIQ2_XS}) {
    const auto types = mix_types({id}, {"llama", 1, 0, 1, false}, tensors);
    EXPECT_EQ(types.at("output.weight"), DType::kF16);
    EXPECT_EQ(types.at("blk.0.ffn_down.weight"), DType::kF16);
    EXPECT_EQ(block_of(types.at("blk.0.attn_k.weight")).elements, 32);
  }
}

TEST(Mix, GivesAllMatricesOneTypeWhenItIsPure) {
  const std::vector<MixTensor> tensors = {
      matrix("token_embd.weight", 256),         matrix("output.weight", 256),
      matrix("blk.0.attn_v.weight", 256),       matrix("blk.0.ffn_down.weight", 320),
      matrix("blk.0.ffn_gate_inp.weight", 256), {"output_norm.weight", {256}}};
  const auto types = mix_types({MixId::kQ4_K_M, true}, {"llama", 1, 0, 1, false}, tensors);
  EXPECT_EQ(types, (TensorTypes{{"token_embd.weight", DType::kQ4_K},
                                {"output.weight", DType::kQ4_K},
                                {"blk.0.attn_v.weight", DType::kQ4_K},
                                {"blk.0.ffn_down.weight", DType::kQ5_0}}));
}

TEST(Mix, ReadsSizesThatAreListsOfLayers) {
  const auto model = mix_model(json::parse(
      R"({"general.architecture": "llama", "llama.block_count": 80,
          "llama.attention.head_count": [64, 32], "llama.attention.head_count_kv": [8, 32]})"));
  EXPECT_EQ(model.queries_per_kv_head, 8);
  EXPECT_TRUE(model.is_70b);
  // Odd metadata in a file causes no crash.
  for (const char* odd : {R"({})", R"({"general.architecture": 3})",
                          R"({"general.architecture": "llama", "llama.attention.head_count": [],
                              "llama.attention.head_count_kv": 0, "llama.block_count": "many"})"}) {
    EXPECT_FALSE(mix_model(json::parse(odd)).is_70b) << odd;
  }
}

/// A golden folder's names in GGUF.
GgufNames names_in_gguf(const char* folder) {
  const auto model =
      open_model(test::source_path(std::string("tests/model/data/goldens/") + folder)).value();
  return gguf_names(*model.family, *model.checkpoint, *model.program).value();
}

TEST(MixPlan, NamesTheTensorsOfAFolderAsTheFolderDoes) {
  const auto types = plan_mix({.mix = MixId::kQ8_0, .pure = true}, names_in_gguf("mixtral"));
  ASSERT_TRUE(types) << to_string(types.error());
  EXPECT_TRUE(types->contains("model.embed_tokens.weight"));
  EXPECT_TRUE(types->contains("model.layers.1.self_attn.v_proj.weight"));
  // The matrices of every expert get a type, the router does not.
  EXPECT_TRUE(types->contains("model.layers.1.block_sparse_moe.experts.0.w2.weight"));
  EXPECT_TRUE(types->contains("model.layers.1.block_sparse_moe.experts.1.w2.weight"));
  EXPECT_FALSE(types->contains("model.layers.1.block_sparse_moe.gate.weight"));
  EXPECT_FALSE(types->contains("model.norm.weight"));
}

/// GGUF's form of a layer that has two experts one by one.
GgufNames two_experts() {
  return {json::parse(R"({"general.architecture": "llama", "llama.block_count": 1})"),
          {{"blk.0.ffn_up_exps.weight", {2, 64, 256}, false, {"up.0", "up.1"}},
           {"blk.0.attn_q.weight", {64, 256}, false, {"query"}}}};
}

TEST(MixPlan, TakesAnImportanceMatrixByGgufsNamesForAFolder) {
  std::vector<float> both(512, 1);
  both[256] = 2;
  const auto importance =
      renamed_importance({{"blk.0.ffn_up_exps.weight", both}, {"query", {5}}}, two_experts());
  EXPECT_EQ(importance.at("up.0"), std::vector<float>(256, 1));
  EXPECT_EQ(importance.at("up.1").front(), 2);
  EXPECT_EQ(importance.at("up.1").size(), 256U);
  EXPECT_EQ(importance.at("query"), std::vector<float>{5});
}

TEST(MixPlan, WantsTheImportanceOfWhatIsNoiseWithoutIt) {
  MixPlan plan{.mix = MixId::kIQ2_XS};
  EXPECT_THAT(plan_mix(plan, two_experts()),
              FailsWith(ModelErrc::kCannotQuantize, "'up.0': iq2_xs needs"));
  const ImportanceMap some = {{"up.0", {1}}, {"up.1", {1}}};
  plan.importance = &some;
  EXPECT_THAT(plan_mix(plan, two_experts()), FailsWith(ModelErrc::kCannotQuantize, "'query'"));
  const ImportanceMap all = {{"up.0", {1}}, {"up.1", {1}}, {"query", {1}}};
  plan.importance = &all;
  EXPECT_TRUE(plan_mix(plan, two_experts()));
}

}  // namespace
}  // namespace weft
