#include "weft/model/adapters/adapter_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<AdapterConfig> parse(const std::string& text) {
  return parse_adapter_config(text, "adapter_config.json");
}

AdapterConfig parsed(const std::string& text) { return parse(text).value(); }

bool adapts(const std::string& config, const std::string& module) {
  return is_adapted(parsed(config), module).value();
}

constexpr const char* kLayerOneQuery = "model.layers.1.self_attn.q_proj";

TEST(AdapterConfigTest, HasTheDefaultsOfPeft) {
  const AdapterConfig config = parsed("{}");
  EXPECT_EQ(config.rank, 8);
  EXPECT_EQ(config.alpha, 8);
  EXPECT_EQ(config.bias, AdapterBias::kNone);
  EXPECT_THAT(config.refused, IsEmpty());
}

TEST(AdapterConfigTest, RefusesAKeyThatStandsTwiceAndNamesIt) {
  EXPECT_THAT(parse(R"({"r": 4, "lora_alpha": 1, "r": 8})"),
              FailsWith(ModelErrc::kBadAdapter, R"(adapter_config.json: 'r' stands there twice)"));
  EXPECT_THAT(parse(R"({"rank_pattern": {"a": 1, "a": 2}})"),
              FailsWith(ModelErrc::kBadAdapter, R"('rank_pattern.a' stands there twice)"));
}

TEST(AdapterConfigTest, SaysAtWhichByteItIsNoJson) {
  EXPECT_THAT(parse(R"({"lora_alpha": NaN})"), FailsWith(ModelErrc::kBadAdapter, "at byte 15"));
  EXPECT_THAT(parse(R"({"r": 4)"), FailsWith(ModelErrc::kBadAdapter, "at byte 7"));
  EXPECT_THAT(parse("[1]"), FailsWith(ModelErrc::kBadAdapter, "no object"));
}

TEST(AdapterConfigTest, RefusesValuesOutOfTheirRangeAndNamesTheKey) {
  for (const char* const rank : {"0", "-1", "4097", "1e30", "2.5", "\"8\"", "true"}) {
    EXPECT_THAT(parse(std::string(R"({"r": )") + rank + "}"),
                FailsWith(ModelErrc::kBadAdapter, R"('r' is no whole number of 1 .. 4096)"))
        << rank;
  }
  EXPECT_THAT(parse(R"({"lora_alpha": "x"})"),
              FailsWith(ModelErrc::kBadAdapter, R"('lora_alpha' is no number)"));
  EXPECT_THAT(parse(R"({"rank_pattern": {"q": 0}})"),
              FailsWith(ModelErrc::kBadAdapter, "rank_pattern"));
  EXPECT_THAT(parse(R"({"bias": "some"})"), FailsWith(ModelErrc::kBadAdapter, "'bias'"));
  EXPECT_THAT(parse(R"({"use_dora": 1})"), FailsWith(ModelErrc::kBadAdapter, "'use_dora'"));
  EXPECT_THAT(parse(R"({"target_modules": [5]})"),
              FailsWith(ModelErrc::kBadAdapter, "'target_modules'"));
  EXPECT_THAT(parse(R"({"layers_to_transform": [-1]})"),
              FailsWith(ModelErrc::kBadAdapter, "'layers_to_transform'"));
}

TEST(AdapterConfigTest, ListsTheKeysThatAreNotSupported) {
  for (const char* const key :
       {R"("layer_replication": [[0, 4]])", R"("alora_invocation_tokens": [1, 2])",
        R"("use_qalora": true)", R"("arrow_config": {"top_k": 1})", R"("peft_type": "IA3")",
        R"("init_lora_weights": "pissa_niter_4")", R"("ensure_weight_tying": true)"}) {
    const AdapterConfig config = parsed("{" + std::string(key) + "}");
    const std::string name = std::string(key).substr(1, std::string(key).find('"', 1) - 1);
    EXPECT_THAT(config.refused, ElementsAre(HasSubstr(name + ": "))) << key;
  }
}

TEST(AdapterConfigTest, RefusesAnUnknownKeyUnlessItIsOff) {
  EXPECT_THAT(parsed(R"({"use_magic": true})").refused, ElementsAre(HasSubstr("use_magic")));
  const AdapterConfig config = parsed(R"({"use_magic": false, "more": null, "none": {}})");
  EXPECT_THAT(config.refused, IsEmpty());
  EXPECT_THAT(config.passed_over, testing::UnorderedElementsAre("use_magic", "more", "none"));
}

TEST(AdapterConfigTest, SelectsModulesByAListOfNames) {
  constexpr const char* kList = R"({"target_modules": ["q_proj", "lm_head"]})";
  EXPECT_TRUE(adapts(kList, kLayerOneQuery));
  EXPECT_TRUE(adapts(kList, "lm_head"));
  EXPECT_FALSE(adapts(kList, "model.layers.1.self_attn.xq_proj"));
}

TEST(AdapterConfigTest, SelectsModulesByAPatternOfTheWholePath) {
  EXPECT_TRUE(adapts(R"({"target_modules": ".*\\.[01]\\..*q_proj"})", kLayerOneQuery));
  EXPECT_FALSE(adapts(R"({"target_modules": "q_proj"})", kLayerOneQuery));
  EXPECT_FALSE(adapts(R"({"target_modules": ".*\\.[01]\\..*q"})", kLayerOneQuery));
}

TEST(AdapterConfigTest, RefusesAPatternThatIsNone) {
  EXPECT_THAT(is_adapted(parsed(R"({"target_modules": "(q_proj"})"), kLayerOneQuery),
              FailsWith(ModelErrc::kBadAdapter, "(q_proj"));
  EXPECT_THAT(is_adapted(parsed(R"({"target_modules": "(a|aa)+[bc]"})"), std::string(4000, 'a')),
              FailsWith(ModelErrc::kBadAdapter, "(a|aa)+[bc]"));
}

TEST(AdapterConfigTest, LeavesOutWhatIsExcludedOrInAnotherLayer) {
  EXPECT_FALSE(adapts(R"({"target_modules": ["q_proj"], "exclude_modules": ["self_attn.q_proj"]})",
                      kLayerOneQuery));
  constexpr const char* kLayers =
      R"({"target_modules": ["q_proj"], "layers_to_transform": [0, 2]})";
  EXPECT_FALSE(adapts(kLayers, kLayerOneQuery));
  EXPECT_TRUE(adapts(kLayers, "model.layers.2.self_attn.q_proj"));
  EXPECT_TRUE(
      adapts(R"({"target_modules": ["q_proj"], "layers_to_transform": 1})", kLayerOneQuery));
  EXPECT_FALSE(adapts(
      R"({"target_modules": ["q_proj"], "layers_to_transform": [1], "layers_pattern": "blocks"})",
      kLayerOneQuery));
  EXPECT_TRUE(adapts(
      R"({"target_modules": ["q_proj"], "layers_to_transform": [1], "layers_pattern": ["layers"]})",
      kLayerOneQuery));
}

TEST(AdapterConfigTest, TakesRankAndAlphaOfTheFirstPatternThatMatchesTheEnd) {
  const AdapterConfig config = parsed(
      R"({"r": 4, "lora_alpha": 6, "rank_pattern": {"1.self_attn.q_proj": 3, ".*q_proj": 9},
          "alpha_pattern": {"^self_attn.q_proj": 7, "q_proj": 5}})");
  EXPECT_EQ(rank_of(config, kLayerOneQuery).value(), 3);
  EXPECT_EQ(rank_of(config, "model.layers.0.self_attn.q_proj").value(), 9);
  EXPECT_EQ(rank_of(config, "model.layers.0.self_attn.v_proj").value(), 4);
  EXPECT_EQ(alpha_of(config, kLayerOneQuery).value(), 5);
  EXPECT_EQ(alpha_of(config, "self_attn.q_proj").value(), 7);
  EXPECT_DOUBLE_EQ(adapter_scale(6, 4, false), 1.5);
  EXPECT_DOUBLE_EQ(adapter_scale(6, 4, true), 3);
}

}  // namespace
}  // namespace weft
