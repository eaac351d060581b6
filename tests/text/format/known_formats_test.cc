#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/doc_page.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/text/json_data.h"
#include "weft/text/format/output_format.h"

namespace weft::test {
namespace {

TEST(KnownFormatsTest, APublishedTemplateTellsItsFormat) {
  const std::filesystem::path folder = shared_data() / "templates";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const std::map<std::string, std::string> expected = {
      {"Apertus-8B-Instruct", "apertus+apertus-think"},
      {"Bielik-11B-v3.0-Instruct", "hermes+think"},
      {"CohereForAI-c4ai-command-r-plus-tool_use", "command-r"},
      {"GLM-4.6", "glm+think"},
      {"GigaChat3-10B-A1.8B", ""},
      {"HuggingFaceTB-SmolLM3-3B", "think"},
      {"Kimi-K2-Thinking", "kimi+think"},
      {"LFM2.5-8B-A1B", "lfm2+think"},
      {"MiMo-VL", "hermes"},
      {"Mistral-Small-3.2-24B-Instruct-2506", "mistral-args"},
      {"NVIDIA-Nemotron-Nano-v2", "nemotron+think"},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "hermes"},
      {"Qwen-Qwen2.5-7B-Instruct", "hermes"},
      {"Qwen3-Coder", "qwen3-coder"},
      {"Reka-Edge", "hermes+think"},
      {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek-v3+think"},
      {"deepseek-ai-DeepSeek-V3.1", "deepseek-v3.1+think"},
      {"fireworks-ai-llama-3-firefunction-v2", "functools"},
      {"google-gemma-4-31B-it-interleaved", "gemma+gemma-think"},
      {"ibm-granite-granite-3.3-2B-Instruct", "granite+granite-think"},
      {"ibm-granite-granite-4.1", "hermes"},
      {"meta-llama-Llama-3.2-3B-Instruct", "llama-json"},
      {"microsoft-Phi-3.5-mini-instruct", ""},
      {"mistralai-Mistral-Nemo-Instruct-2407", "mistral"},
      {"openai-gpt-oss-120b", "harmony"},
      {"unsloth-Apriel-1.5", "tool-calls"},
      {"upstage-Solar-Open-100B", "solar"},
  };
  for (const auto& [name, format] : expected) {
    const auto text = read_text_file(folder / (name + ".jinja"), std::size_t{1} << 20);
    ASSERT_TRUE(text) << name;
    EXPECT_EQ(find_output_format(*text).name, format) << name;
  }
}

TEST(KnownFormatsTest, WhatIsSaidCountsMoreThanTheTemplate) {
  const OutputFormat none;
  EXPECT_EQ(find_output_format("<tool_call></think>", known_format("glm")).name, "glm+think");
  EXPECT_EQ(find_output_format("<tool_call></think>", nullptr, &none).thoughts.any(), false);
  EXPECT_EQ(find_output_format("<tool_call></think>", &none).calls.body, CallBody::kNone);
  EXPECT_EQ(known_format("no such"), nullptr);
}

TEST(KnownFormatsTest, EveryTagBeginsWithAsciiAndIsNoBeginningOfAnother) {
  for (const auto table : {known_calls(), known_thoughts()}) {
    for (const KnownFormat& known : table) {
      for (const std::string_view tag : known.format.tags()) {
        EXPECT_TRUE(tag.size() <= 64) << tag;
      }
      const std::string_view open = known.format.calls.open;
      EXPECT_TRUE(open.empty() || static_cast<unsigned char>(open.front()) < 0x80) << open;
      for (const std::string& silent : known.format.silent) {
        EXPECT_LT(static_cast<unsigned char>(silent.front()), 0x80) << silent;
        EXPECT_FALSE(open.starts_with(silent) || silent.starts_with(open) != open.empty())
            << silent;
      }
    }
  }
}

TEST(KnownFormatsTest, ThePageListsEachRow) {
  const std::string page = doc_page("tools.md");
  for (const auto table : {known_calls(), known_thoughts()}) {
    for (const KnownFormat& known : table) {
      const std::string begin = "\n| `" + known.format.name + "` | ";
      const std::size_t row = page.find(begin);
      ASSERT_NE(row, std::string::npos) << known.format.name;
      const std::string line = page.substr(row + 1, page.find('\n', row + 1) - row - 1);
      EXPECT_TRUE(line.ends_with("| " + std::string(known.families) + " |")) << line;
    }
  }
}

}  // namespace
}  // namespace weft::test
