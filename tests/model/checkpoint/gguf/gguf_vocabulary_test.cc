#include "weft/model/checkpoint/gguf/gguf_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "weft/model/checkpoint/gguf/gguf.h"
#include "weft/model/model_error.h"
#include "weft/tests/fixture/files/checkpoint_errors.h"
#include "weft/tests/fixture/files/gguf_writer.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;
using test::GgufWriter;
using test::is_bad;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Type = Vocabulary::TokenType;

std::vector<std::string> four_tokens() { return {"<unk>", "<s>", "</s>", "a"}; }

GgufWriter gguf_tokenizer(const std::string& model) {
  return GgufWriter()
      .text("tokenizer.ggml.model", model)
      .texts("tokenizer.ggml.tokens", four_tokens());
}

Result<CheckpointFile> read_vocabulary(const GgufWriter& writer) {
  return read_gguf(test::source_of(writer.bytes(), "m.gguf"));
}

Vocabulary vocabulary_of(const GgufWriter& writer) {
  const auto file = read_vocabulary(writer);
  if (!file || file->vocabulary == nullptr) {
    ADD_FAILURE() << (file ? "no vocabulary" : to_string(file.error()));
    return {};
  }
  return *file->vocabulary;
}

TEST(GgufVocabularyTest, ReadsGemma4sWithTheBeginningThatItAlwaysHas) {
  const Vocabulary read =
      vocabulary_of(gguf_tokenizer("gemma4")
                        .numbers<float>("tokenizer.ggml.scores", GgufWriter::kF32, {0, -1, -2, -3})
                        .texts("tokenizer.ggml.merges", {"\u2581 a", "\n \n"})
                        .number<std::uint32_t>("tokenizer.ggml.bos_token_id", 4, 1)
                        .number<std::uint8_t>("tokenizer.ggml.add_bos_token", 7, 0)
                        .number<std::uint8_t>("tokenizer.ggml.add_space_prefix", 7, 0));
  EXPECT_EQ(read.model, Vocabulary::Model::kLineBpe);
  EXPECT_THAT(read.merges, ElementsAre("\u2581 a", "\n \n"));
  EXPECT_TRUE(read.add_bos);
  EXPECT_FALSE(read.add_space_prefix);
}

TEST(GgufVocabularyTest, ReadsWhatTheFileStates) {
  const Vocabulary read = vocabulary_of(
      gguf_tokenizer("llama")
          .text("tokenizer.ggml.pre", "default")
          .numbers<float>("tokenizer.ggml.scores", GgufWriter::kF32, {0, -1, -2, -3})
          .numbers<std::int32_t>("tokenizer.ggml.token_type", GgufWriter::kI32, {2, 3, 3, 1})
          .texts("tokenizer.ggml.merges", {"a b"})
          .number<std::uint32_t>("tokenizer.ggml.bos_token_id", 4, 2)
          .number<std::uint32_t>("tokenizer.ggml.eos_token_id", 4, 1)
          .number<std::uint32_t>("tokenizer.ggml.unknown_token_id", 4, 3)
          .number<std::uint32_t>("tokenizer.ggml.seperator_token_id", 4, 1)
          .number<std::uint32_t>("tokenizer.ggml.padding_token_id", 4, 2)
          .number<std::uint32_t>("tokenizer.ggml.cls_token_id", 4, 3)
          .number<std::uint32_t>("tokenizer.ggml.mask_token_id", 4, 0)
          .number<std::uint8_t>("tokenizer.ggml.add_bos_token", 7, 0)
          .number<std::uint8_t>("tokenizer.ggml.add_eos_token", 7, 1)
          .number<std::uint8_t>("tokenizer.ggml.add_space_prefix", 7, 0)
          .number<std::uint8_t>("tokenizer.ggml.remove_extra_whitespaces", 7, 1)
          .text("tokenizer.chat_template", "{{ x }}")
          .text("tokenizer.chat_template.tool_use", "{{ y }}"));
  EXPECT_EQ(read.model, Vocabulary::Model::kSentencePieceBpe);
  EXPECT_EQ(read.pre, "default");
  EXPECT_EQ(read.tokens, four_tokens());
  EXPECT_THAT(read.scores, ElementsAre(0, -1, -2, -3));
  EXPECT_THAT(read.types,
              ElementsAre(Type::kUnknown, Type::kControl, Type::kControl, Type::kNormal));
  EXPECT_THAT(read.merges, ElementsAre("a b"));
  EXPECT_EQ(read.special.bos, 2);
  EXPECT_EQ(read.special.eos, 1);
  EXPECT_EQ(read.special.unknown, 3);
  EXPECT_EQ(read.special.separator, 1);
  EXPECT_EQ(read.special.padding, 2);
  EXPECT_EQ(read.special.classifier, 3);
  EXPECT_EQ(read.special.mask, 0);
  EXPECT_FALSE(read.add_bos);
  EXPECT_TRUE(read.add_eos);
  EXPECT_FALSE(read.add_space_prefix);
  EXPECT_TRUE(read.remove_extra_whitespaces);
  EXPECT_EQ(read.chat_template, "{{ x }}");
  EXPECT_EQ(read.tool_chat_template, "{{ y }}");
}

TEST(GgufVocabularyTest, KnowsWhatHoldsWhereTheFileIsSilent) {
  const Vocabulary llama = vocabulary_of(gguf_tokenizer("llama"));
  EXPECT_EQ(llama.special.bos, 1);
  EXPECT_EQ(llama.special.eos, 2);
  EXPECT_EQ(llama.special.unknown, 0);
  EXPECT_TRUE(llama.add_bos);
  EXPECT_FALSE(llama.add_eos);
  EXPECT_TRUE(llama.add_space_prefix);
  EXPECT_THAT(llama.scores, IsEmpty());
  EXPECT_THAT(llama.types, IsEmpty());
  const Vocabulary gpt2 = vocabulary_of(gguf_tokenizer("gpt2"));
  EXPECT_EQ(gpt2.model, Vocabulary::Model::kByteLevelBpe);
  EXPECT_EQ(gpt2.special.bos, kNoToken);
  EXPECT_FALSE(gpt2.add_bos);
  EXPECT_FALSE(gpt2.add_space_prefix);
  EXPECT_TRUE(
      vocabulary_of(gguf_tokenizer("gpt2").text("tokenizer.ggml.pre", "llama-bpe")).add_bos);
  const Vocabulary t5 = vocabulary_of(gguf_tokenizer("t5"));
  EXPECT_EQ(t5.model, Vocabulary::Model::kUnigram);
  EXPECT_FALSE(t5.add_bos);
  EXPECT_TRUE(t5.add_eos);
  const Vocabulary bert = vocabulary_of(gguf_tokenizer("bert"));
  EXPECT_EQ(bert.model, Vocabulary::Model::kWordPiece);
  EXPECT_EQ(bert.special.classifier, kNoToken) << "token 101 of 4";
  EXPECT_TRUE(bert.add_bos && bert.add_eos);
}

TEST(GgufVocabularyTest, IsAbsentWhereTheFileHasNone) {
  EXPECT_EQ(read_vocabulary(GgufWriter())->vocabulary, nullptr);
  EXPECT_EQ(read_vocabulary(GgufWriter().text("tokenizer.ggml.model", "none"))->vocabulary,
            nullptr);
}

TEST(GgufVocabularyTest, RefusesKindsItDoesNotKnow) {
  EXPECT_THAT(read_vocabulary(gguf_tokenizer("rwkv")),
              FailsWith(ModelErrc::kUnsupportedFormat, "tokenizer.ggml.model is 'rwkv'"));
}

TEST(GgufVocabularyTest, RefusesArraysOfAnotherTypeOrLength) {
  const auto llama = [] { return gguf_tokenizer("llama"); };
  EXPECT_THAT(
      read_vocabulary(llama().numbers<float>("tokenizer.ggml.scores", GgufWriter::kF32, {0})),
      is_bad("tokenizer.ggml.scores: 1 scores for 4 tokens"));
  EXPECT_THAT(
      read_vocabulary(llama().numbers<std::uint8_t>("tokenizer.ggml.scores", 0, {0, 0, 0, 0})),
      is_bad("tokenizer.ggml.scores: its elements are of type 0, not 6"));
  EXPECT_THAT(read_vocabulary(llama().texts("tokenizer.ggml.scores", {"", "", "", ""})),
              is_bad("type 8"));
  EXPECT_THAT(read_vocabulary(llama().number<float>("tokenizer.ggml.scores", 6, 0)),
              is_bad("is no array"));
  EXPECT_THAT(read_vocabulary(
                  llama().numbers<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, 1, 1})),
              is_bad("5 types for 4 tokens"));
  EXPECT_THAT(
      read_vocabulary(llama().numbers<std::uint8_t>("tokenizer.ggml.token_type", 0, {1, 1, 1, 1})),
      is_bad("type 0, not 5"));
  EXPECT_THAT(
      read_vocabulary(llama().numbers<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 7, 1})),
      is_bad("token 2 has type 7"));
  EXPECT_THAT(
      read_vocabulary(llama().numbers<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, -1, 1})),
      is_bad("token 2 has type -1"));
  EXPECT_THAT(read_vocabulary(llama().numbers<std::uint8_t>("tokenizer.ggml.merges", 0, {1})),
              is_bad("tokenizer.ggml.merges"));
  EXPECT_THAT(read_vocabulary(
                  llama().raw("tokenizer.ggml.merges", GgufWriter::kArray,
                              test::ByteWriter().put(GgufWriter::kArray).put<std::uint64_t>(0))),
              is_bad("arrays in an array"));
}

TEST(GgufVocabularyTest, RefusesVocabulariesOfNoReasonableSize) {
  const auto with = [](const std::vector<std::string>& tokens) {
    return read_vocabulary(
        GgufWriter().text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens));
  };
  EXPECT_THAT(read_vocabulary(GgufWriter().text("tokenizer.ggml.model", "llama")),
              is_bad("tokenizer.ggml.tokens: is missing or empty"));
  EXPECT_THAT(with({}), is_bad("is missing or empty"));
  EXPECT_TRUE(with({std::string(65'536, 'a')}));
  EXPECT_THAT(with({"", std::string(65'537, 'a')}), is_bad("element 1 has 65537 bytes"));
  EXPECT_THAT(with(std::vector<std::string>((1U << 21U) + 1)), is_bad("2097153 elements"));
}

TEST(GgufVocabularyTest, RefusesFlagsAndIdsOfTheWrongKind) {
  EXPECT_THAT(read_vocabulary(GgufWriter().number<std::uint32_t>("tokenizer.ggml.model", 4, 1)),
              is_bad("tokenizer.ggml.model: is no text"));
  EXPECT_THAT(read_vocabulary(gguf_tokenizer("llama").number<std::uint32_t>(
                  "tokenizer.ggml.add_bos_token", 4, 1)),
              is_bad("tokenizer.ggml.add_bos_token: is no bool"));
  EXPECT_THAT(read_vocabulary(gguf_tokenizer("llama").text("tokenizer.ggml.bos_token_id", "1")),
              is_bad("tokenizer.ggml.bos_token_id: is no token"));
  EXPECT_THAT(read_vocabulary(gguf_tokenizer("llama").number<std::uint32_t>(
                  "tokenizer.ggml.bos_token_id", 4, 4)),
              is_bad("tokenizer.ggml.bos_token_id: 4 of 4"));
  EXPECT_THAT(read_vocabulary(gguf_tokenizer("llama").number<std::int32_t>(
                  "tokenizer.ggml.eos_token_id", 5, -1)),
              is_bad("-1 of 4"));
  EXPECT_THAT(read_vocabulary(
                  gguf_tokenizer("llama").number("tokenizer.ggml.eos_token_id", 10, UINT64_MAX)),
              is_bad("is no token"));
  EXPECT_EQ(vocabulary_of(gguf_tokenizer("llama").number<std::uint32_t>(
                              "tokenizer.ggml.padding_token_id", 4, 99))
                .special.padding,
            kNoToken);
}

// A reader that takes a step for each pair of entries would run into the time limit of the program.
TEST(GgufVocabularyTest, ReadsALargeVocabulary) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 256 * 1024; ++i) tokens.push_back("token-" + std::to_string(i));
  const auto bytes = GgufWriter()
                         .text("tokenizer.ggml.model", "gpt2")
                         .texts("tokenizer.ggml.tokens", tokens)
                         .texts("tokenizer.ggml.merges", tokens)
                         .bytes();
  const auto file = read_gguf(test::source_of(bytes, "m.gguf"));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->vocabulary->tokens, tokens);
  EXPECT_THAT(file->vocabulary->merges, SizeIs(tokens.size()));
}

}  // namespace
}  // namespace weft
