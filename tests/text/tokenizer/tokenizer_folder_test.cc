#include <gtest/gtest.h>

#include <fstream>

#include "weft/core/io/file.h"
#include "weft/tests/text/json_data.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

constexpr std::string_view kTokenizer = R"({
  "added_tokens": [{"id": 2, "content": "<s>", "special": true},
                   {"id": 3, "content": "</s>", "special": true},
                   {"id": 4, "content": "<end>", "special": false}],
  "decoder": {"type": "Fuse"},
  "post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens":
    {"<s>": {"id": "<s>", "ids": [2], "tokens": ["<s>"]}},
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})";

/// A folder that goes with the test.
class TokenizerFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("weft_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("tokenizer.json", kTokenizer);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  [[nodiscard]] Tokenizer load() const {
    Result<Tokenizer> made = Tokenizer::load(folder_);
    EXPECT_TRUE(made) << to_string(made.error());
    return *made;
  }

  std::filesystem::path folder_;
};

std::vector<TokenId> around(const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  EXPECT_TRUE(tokenizer.encode("a", {}, ids));
  return ids;
}

TEST_F(TokenizerFolderTest, LoadsAFileAlone) {
  const Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.bos(), kNoToken);
  EXPECT_EQ(tokenizer.chat_template(), "");
  EXPECT_EQ(around(tokenizer), (std::vector<TokenId>{2, 0}));
  EXPECT_TRUE(Tokenizer::load(folder_ / "tokenizer.json"));
}

TEST_F(TokenizerFolderTest, ReadsRolesAndTemplateOfItsConfig) {
  // Real files have this length, which is no number of 64 bits.
  write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>",
      "pad_token": null, "chat_template": "{{ x }}",
      "model_max_length": 1000000000000000019884624838656})");
  const Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.bos(), 2);
  EXPECT_EQ(tokenizer.eos(), 3);
  EXPECT_EQ(tokenizer.padding(), kNoToken);
  EXPECT_EQ(tokenizer.chat_template(), "{{ x }}");
  EXPECT_EQ(std::vector(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()),
            (std::vector<TokenId>{3}));
}

TEST_F(TokenizerFolderTest, KnowsTheMaskTokenThatItsFilesNameOrThatIsCalledSo) {
  EXPECT_EQ(load().mask(), kNoToken);
  std::string text(kTokenizer);
  text.replace(text.find("</s>"), 4, "[MASK]");
  write("tokenizer.json", text);
  EXPECT_EQ(load().mask(), 3) << "as the classes of BERT's tokenizers know it";
  write("tokenizer_config.json", R"({"mask_token": {"content": "<end>"}})");
  EXPECT_EQ(load().mask(), 4);
}

TEST_F(TokenizerFolderTest, TakesTheDefaultOfSeveralTemplatesAndPrefersAFile) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "t"},
      {"name": "default", "template": "d"}]})");
  EXPECT_EQ(load().chat_template(), "d");
  EXPECT_EQ(load().tool_chat_template(), "t");
  EXPECT_EQ(load().chat_templates(), "dt");
  write("chat_template.jinja", "from a file");
  EXPECT_EQ(load().chat_template(), "from a file");
  EXPECT_EQ(load().tool_chat_template(), "") << "files count instead of the others";
}

TEST_F(TokenizerFolderTest, ReadsTheTemplateForToolsFromAFileOfItsOwn) {
  std::filesystem::create_directory(folder_ / "additional_chat_templates");
  write("additional_chat_templates/tool_use.jinja", "t");
  write("additional_chat_templates/rag.jinja", "r");
  EXPECT_EQ(load().chat_template(), "t") << "the only one is for all";
  write("chat_template.jinja", "d");
  EXPECT_EQ(load().chat_template(), "d");
  EXPECT_EQ(load().tool_chat_template(), "t");
}

TEST_F(TokenizerFolderTest, TakesATemplateForToolsThatStandsAloneForAll) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(load().chat_template(), "t");
  EXPECT_EQ(load().tool_chat_template(), "");
}

TEST_F(TokenizerFolderTest, ReadsEverythingThatEndsAGeneration) {
  write("special_tokens_map.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}})");
  write("generation_config.json", R"({"eos_token_id": [4, 3]})");
  const Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.eos(), 3);
  EXPECT_EQ(std::vector(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()),
            (std::vector<TokenId>{3, 4}));
}

TEST_F(TokenizerFolderTest, RefusesAnEndTokenThatIsNone) {
  for (const char* file : {"generation_config.json", "config.json"}) {
    for (const char* ids :
         {"99", "-1", "[4, 99]", "[4, \"</s>\"]", "\"</s>\"", "[[4]]", "4.5", "{}"}) {
      write(file, R"({"eos_token_id": )" + std::string(ids) + "}");
      const Result<Tokenizer> made = Tokenizer::load(folder_);
      ASSERT_FALSE(made) << ids;
      EXPECT_EQ(made.error().code, TextErrc::kBadTokenizer);
      EXPECT_NE(made.error().detail.find(file), std::string::npos) << made.error().detail;
      EXPECT_NE(made.error().detail.find("eos_token_id: "), std::string::npos);
    }
    write(file, R"({"eos_token_id": null})");
    EXPECT_EQ(load().eos(), kNoToken);
  }
}

TEST_F(TokenizerFolderTest, KnowsTheFileOfItsTemplate) {
  write("tokenizer_config.json", R"({"chat_template": "{{ x }}"})");
  EXPECT_EQ(load().chat_template_file(), (folder_ / "tokenizer_config.json").string());
  write("chat_template.jinja", "{{ y }}");
  EXPECT_EQ(load().chat_template_file(), (folder_ / "chat_template.jinja").string());
}

TEST_F(TokenizerFolderTest, FallsBackToTheIdsOfTheModelsConfig) {
  write("config.json", R"({"bos_token_id": 2, "eos_token_id": 3})");
  const Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.bos(), 2);
  EXPECT_EQ(tokenizer.eos(), 3);
}

TEST_F(TokenizerFolderTest, HeedsTheFlagsOfClassesThatHaveThem) {
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>",
      "eos_token": "</s>", "add_bos_token": false, "add_eos_token": true})");
  EXPECT_EQ(around(load()), (std::vector<TokenId>{0, 3}));
  write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast",
      "bos_token": "<s>", "add_bos_token": false})");
  EXPECT_EQ(around(load()), (std::vector<TokenId>{2, 0}));
}

TEST_F(TokenizerFolderTest, NeverTakesBosOrEosFromText) {
  write("tokenizer_config.json", R"({"eos_token": "<end>"})");
  std::vector<TokenId> ids;
  ASSERT_TRUE(load().encode("a<end>b", {.add_special = false, .parse_special = false}, ids));
  EXPECT_EQ(ids, (std::vector<TokenId>{0, 1}));
}

TEST_F(TokenizerFolderTest, NamesTheFileThatIsSpoilt) {
  write("tokenizer_config.json", "{");
  const Result<Tokenizer> made = Tokenizer::load(folder_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, TextErrc::kBadTokenizer);
  EXPECT_NE(made.error().detail.find("tokenizer_config.json"), std::string::npos);
}

TEST_F(TokenizerFolderTest, NamesAGitLfsPointer) {
  write("tokenizer.json", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  const Result<Tokenizer> made = Tokenizer::load(folder_);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().detail.find("tokenizer.json"), std::string::npos);
  EXPECT_NE(made.error().detail.find("git-lfs pointer"), std::string::npos);
}

TEST_F(TokenizerFolderTest, SaysWhenThereIsNoFile) {
  EXPECT_EQ(Tokenizer::load(folder_ / "nowhere").error().code, FileErrc::kCannotRead);
}

}  // namespace
}  // namespace weft
