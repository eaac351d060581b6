// The values that a model's makers recommend, and their effect on requests.

#include "weft/actors/loading/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using test::FailsWith;
using test::TempFolder;

Result<GenerationDefaults> read_text(const std::string& text) {
  const TempFolder folder;
  folder.write("generation_config.json", text);
  return read_generation_config("auto", folder.path());
}

TEST(GenerationConfig, SaysWhatRequestsDoNot) {
  const auto defaults = read_text(R"({"temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.05,
      "repetition_penalty": 1.05, "max_new_tokens": 512, "eos_token_id": [7, 9],
      "do_sample": false, "transformers_version": "5.0", "top_h": null})");
  ASSERT_TRUE(defaults) << to_string(defaults.error());
  EXPECT_EQ(defaults->sampling.temperature, 0.6F);
  EXPECT_EQ(defaults->sampling.top_k, 20);
  EXPECT_EQ(defaults->sampling.top_p, 0.95F);
  EXPECT_EQ(defaults->sampling.min_p, 0.05F);
  EXPECT_EQ(defaults->sampling.penalties.repetition, 1.05F);
  EXPECT_EQ(defaults->max_tokens, 512);
  EXPECT_EQ(defaults->end_tokens, (std::vector<TokenId>{7, 9}));
}

TEST(GenerationConfig, LeavesWhatItDoesNotSay) {
  const TempFolder folder;
  folder.write("generation_config.json",
               R"({"top_k": -1, "temperature": null, "eos_token_id": 3})");
  SamplingParams otherwise;
  otherwise.temperature = 0;
  otherwise.top_p = 0.5F;
  const auto defaults = read_generation_config("auto", folder.path(), otherwise).value();
  EXPECT_EQ(defaults.sampling.temperature, 0);
  EXPECT_EQ(defaults.sampling.top_p, 0.5F);
  EXPECT_EQ(defaults.sampling.top_k, 0) << "-1 is all of them";
  EXPECT_EQ(defaults.max_tokens, 0);
  EXPECT_EQ(defaults.end_tokens, std::vector<TokenId>{3});
}

TEST(GenerationConfig, IsLookedForWhereItIsSaidToBe) {
  const TempFolder model;
  const TempFolder other;
  EXPECT_EQ(read_generation_config("auto", model.path()).value().sampling.temperature, 1);
  EXPECT_THAT(read_generation_config(other.path().string(), model.path()),
              FailsWith(FileErrc::kCannotRead, "generation_config.json"));
  other.write("generation_config.json", R"({"temperature": 0.25})");
  EXPECT_EQ(
      read_generation_config(other.path().string(), model.path()).value().sampling.temperature,
      0.25F);
  EXPECT_EQ(read_generation_config("", other.path()).value().sampling.temperature, 1) << "off";
  const auto file = other.write("model.gguf", "");
  EXPECT_EQ(read_generation_config("auto", file).value().sampling.temperature, 0.25F);
}

TEST(GenerationConfig, NamesTheValueThatIsNone) {
  for (const auto& [text, about] : std::vector<std::pair<std::string, std::string>>{
           {R"({"temperature": -1})", "temperature: -1 is no number in 0"},
           {R"({"temperature": "warm"})", "temperature: \"warm\""},
           {R"({"top_p": 1.5})", "top_p: 1.5"},
           {R"({"min_p": [0]})", "min_p: [0]"},
           {R"({"top_k": 2.5})", "top_k: 2.5 is no whole number"},
           {R"({"repetition_penalty": 0})", "repetition_penalty: 0"},
           {R"({"max_new_tokens": 0})", "max_new_tokens: 0"},
           {R"({"max_new_tokens": 1e300})", "max_new_tokens: 1e+300"},
           {R"({"eos_token_id": [1, -2]})", "eos_token_id: -2 is no token"},
           {"[]", "is no object"},
           {"{", "generation_config.json: "}}) {
    EXPECT_THAT(read_text(text), FailsWith(EngineErrc::kBadRequest, about)) << text;
  }
}

}  // namespace
}  // namespace weft
