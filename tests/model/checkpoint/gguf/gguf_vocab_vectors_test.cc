// The vocabularies of others, as their files hold them: read, made into tokenizers, and held
// against the ids of llama.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/checkpoint/gguf/gguf.h"
#include "weft/model/checkpoint/llama2c.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/text/tokenizer/vocab_vectors.h"
#include "weft/text/output/incremental_detokenizer.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

Result<Tokenizer> tokenizer_of(const fs::path& path) {
  const std::string bytes = test::read_file(path);
  const auto file =
      read_gguf(test::source_of(std::as_bytes(std::span(bytes)), path.filename().string()));
  if (!file) return file.error();
  if (file->vocabulary == nullptr) return Error{make_error_code(TextErrc::kBadTokenizer), "none"};
  return Tokenizer::from_vocabulary(*file->vocabulary, path.filename().string());
}

class GgufVocabVectorsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!fs::exists(path())) GTEST_SKIP() << "no vocabulary at " << path();
  }

  static fs::path path() { return test::vocab_file(GetParam()); }
};

TEST_P(GgufVocabVectorsTest, EncodesAsLlamaCppDoes) {
  const Result<Tokenizer> tokenizer = tokenizer_of(path());
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  test::expect_vocab_vectors(*tokenizer, GetParam());
}

/// The vocabularies whose normalizer loses no character.
class GgufLosslessVocabTest : public GgufVocabVectorsTest {};

TEST_P(GgufLosslessVocabTest, GivesTheTextBack) {
  const Result<Tokenizer> tokenizer = tokenizer_of(path());
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  for (const test::VocabVector& vector : test::read_vocab_vectors(GetParam())) {
    EXPECT_EQ(*tokenizer->decode(vector.ids, false), vector.text);
  }
}

TEST_P(GgufVocabVectorsTest, StreamsWhatItDecodesAtOnce) {
  const Result<Tokenizer> tokenizer = tokenizer_of(path());
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  std::mt19937 random(23);
  for (int round = 0; round < 200; ++round) {
    const bool skip_special = round % 2 == 0;
    std::vector<TokenId> ids(random() % 40);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % tokenizer->vocabulary_size());
    IncrementalDetokenizer detokenizer(*tokenizer, skip_special);
    std::string text;
    for (const TokenId id : ids) text += *detokenizer.push(id);
    text += detokenizer.finish();
    EXPECT_EQ(text, *tokenizer->decode(ids, skip_special));
  }
}

/// Texts on which other tokenizers failed by recursion or rescans. Each kind of model encodes a
/// megabyte of them in the tests of text/.
TEST_P(GgufLosslessVocabTest, EncodesLongRunsWithoutASpace) {
  const Result<Tokenizer> tokenizer = tokenizer_of(path());
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  constexpr std::size_t kBytes = std::size_t{1} << 15;
  for (const std::string_view part :
       {"a", "A", "_", "us", "\n", " ", "1", "\u5B57", "{\"k\":1},"}) {
    std::string text;
    while (text.size() < kBytes) text += part;
    std::vector<TokenId> ids;
    ASSERT_TRUE(tokenizer->encode(text, {.add_special = false, .parse_special = false}, ids));
    EXPECT_TRUE(*tokenizer->decode(ids, false) == text) << part;
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, GgufVocabVectorsTest,
                         testing::Values("bert-bge", "deepseek-coder", "falcon", "gpt-2",
                                         "llama-spm", "phi-3"),
                         name_of);
INSTANTIATE_TEST_SUITE_P(AllKinds, GgufLosslessVocabTest,
                         testing::Values("deepseek-coder", "falcon", "gpt-2", "llama-spm", "phi-3"),
                         name_of);

TEST(Llama2cVocabVectorsTest, EncodesAsLlamaCppDoesWithTheSameVocabulary) {
  constexpr std::int64_t kTokens = 32'000;
  const fs::path path = test::shared_data() / "tokenizers/llama2/tokenizer.bin";
  if (!fs::exists(path)) GTEST_SKIP() << "no vocabulary at " << path;
  const std::string bytes = test::read_file(path);
  const auto vocabulary =
      read_llama2c_tokenizer(std::as_bytes(std::span(bytes)), "tokenizer.bin", kTokens);
  ASSERT_TRUE(vocabulary) << to_string(vocabulary.error());
  const Result<Tokenizer> tokenizer = Tokenizer::from_vocabulary(*vocabulary, "tokenizer.bin");
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  test::expect_vocab_vectors(*tokenizer, "llama-spm");
}

}  // namespace
}  // namespace weft
