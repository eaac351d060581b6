// Makes a GGUF file's fields from a tokenizer.json, and checks features that the fields cannot
// express.

#include "weft/text/tokenizer/gguf/gguf_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::FailsWith;
using testing::ElementsAre;

TEST(GgufForm, NamesThePatternsOfAByteLevelTokenizer) {
  const auto form = gguf_form(test::source_path("examples/demo_model/model"));
  ASSERT_TRUE(form) << to_string(form.error());
  EXPECT_EQ(form->model, Vocabulary::Model::kByteLevelBpe);
  EXPECT_FALSE(form->pre.empty());
  EXPECT_FALSE(form->merges.empty());
  EXPECT_FALSE(form->chat_template.empty());
  EXPECT_NE(form->special.eos, kNoToken);
  EXPECT_EQ(form->types[static_cast<std::size_t>(form->special.eos)],
            Vocabulary::TokenType::kControl);
}

// gguf_form() itself compares all tokens and texts of many scripts.
TEST(GgufForm, TakesScoresFromTheOrderOfSentencePiecesMerges) {
  const fs::path folder = test::source_path("../shared/data/models/stories260K/derived_hf");
  if (!fs::exists(folder)) GTEST_SKIP() << "no tokenizer at " << folder;
  const auto form = gguf_form(folder);
  ASSERT_TRUE(form) << to_string(form.error());
  EXPECT_EQ(form->model, Vocabulary::Model::kSentencePieceBpe);
  EXPECT_EQ(form->pre, "");
  EXPECT_TRUE(form->add_space_prefix);
  EXPECT_EQ(form->scores.size(), form->tokens.size());
}

constexpr const char* kSpaces = R"(
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
        "vocab": {"<unk>": 0, "\u2581": 1, "a": 2, "\u2581\u2581": 3, " ": 4, "  ": 5,
                  "\u2581a": 6, "\u2581 ": 7},
        "merges": [["\u2581", "\u2581"], ["\u2581", "a"], [" ", " "], ["\u2581", " "]]})";

constexpr const char* kBytes =
    R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false})";
constexpr const char* kModel =
    R"("model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "<e>": 2}, "merges": []})";

Result<Vocabulary> form_of(const std::string& fields) {
  const test::TempFolder folder;
  folder.write("tokenizer.json", "{" + fields + "}");
  return gguf_form(folder.path());
}

// Some copies of Llama 2's file have spaces in place of its no-break spaces. The ids come from
// PyPI's tokenizers 0.23.
TEST(GgufForm, KeepsTokensOfSpacesApartFromThoseOfMetaspaces) {
  const auto form = form_of(kSpaces);
  ASSERT_TRUE(form) << to_string(form.error());
  EXPECT_EQ(form->tokens[5], "  ");
  const auto tokenizer = Tokenizer::from_vocabulary(*form, "spaces.gguf");
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  const auto ids = [&](std::string_view text) {
    std::vector<TokenId> made;
    EXPECT_TRUE(tokenizer->encode(text, {}, made));
    return made;
  };
  EXPECT_THAT(ids("a"), ElementsAre(6));
  EXPECT_THAT(ids("a  a"), ElementsAre(6, 3, 2));
  EXPECT_THAT(ids("   a"), ElementsAre(3, 3, 2));
  EXPECT_THAT(ids("a\u00a0a"), ElementsAre(6, 0, 2));
  EXPECT_EQ(*tokenizer->token(5), "  ");
}

TEST(GgufForm, SaysWhatLlama2IsInAFile) {
  const fs::path folder = test::source_path("../shared/data/tokenizers/llama2");
  if (!fs::exists(folder)) GTEST_SKIP() << "no tokenizer at " << folder;
  const auto form = gguf_form(folder);
  ASSERT_TRUE(form) << to_string(form.error());
  EXPECT_EQ(form->tokens.size(), 32'000U);
  EXPECT_TRUE(form->add_bos);
}

TEST(GgufForm, NamesWhatItHasNoFormFor) {
  const auto refused = [](const std::string& fields, const std::string& about) {
    EXPECT_THAT(form_of(fields), FailsWith(TextErrc::kUnknownTokenizerPart, about)) << fields;
  };
  const std::string model = kModel;
  const std::string bytes = kBytes;
  refused(R"("model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"})",
          "model.type \"WordLevel\"");
  refused(R"("model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "w"})",
          "model.end_of_word_suffix");
  refused(bytes + R"(, "added_tokens": [{"id": 2, "content": "<e>", "lstrip": true}], )" + model,
          "the added token \"<e>\" with lstrip");
  refused(bytes + R"(, "normalizer": {"type": "Lowercase"}, )" + model, "the normalizer");
  refused(R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}, )" + model,
          "how the pre_tokenizer splits");
  refused(bytes + R"(, "post_processor": {"type": "BertProcessing", "cls": ["a", 0],
                     "sep": ["b", 1]}, )" +
              model,
          "the post_processor");
}

TEST(GgufForm, KnowsTokensThatEndATurnByTheirNames) {
  Vocabulary vocabulary;
  vocabulary.tokens = {"a", "<|im_end|>", "<|im_end|>x"};
  vocabulary.types = {Vocabulary::TokenType::kNormal, Vocabulary::TokenType::kControl,
                      Vocabulary::TokenType::kControl};
  EXPECT_FALSE(ends_by_name(vocabulary, 0));
  EXPECT_TRUE(ends_by_name(vocabulary, 1));
  EXPECT_FALSE(ends_by_name(vocabulary, 2));
  EXPECT_FALSE(ends_by_name(vocabulary, 3));
  vocabulary.types[1] = Vocabulary::TokenType::kNormal;
  EXPECT_FALSE(ends_by_name(vocabulary, 1)) << "only what no user writes";
}

}  // namespace
}  // namespace weft
