#include <gtest/gtest.h>

#include "weft/tests/text/json_data.h"
#include "weft/tests/text/tokenizer/vocab_vectors.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

void expect_vectors(const std::string& vectors, const std::string& tokenizer) {
  const std::filesystem::path folder = test::shared_data() / "tokenizers" / tokenizer;
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no tokenizer at " << folder;
  Result<Tokenizer> made = Tokenizer::load(folder);
  ASSERT_TRUE(made) << to_string(made.error());
  test::expect_vocab_vectors(*made, vectors);
}

TEST(TokenizerVectorsTest, AgreesWithLlamaCppOnGpt2) { expect_vectors("gpt-2", "gpt2"); }
TEST(TokenizerVectorsTest, AgreesWithLlamaCppOnLlama3) {
  expect_vectors("llama-bpe", "llama3.2/derived");
}
TEST(TokenizerVectorsTest, AgreesWithLlamaCppOnBert) {
  expect_vectors("bert-bge", "bert-base-uncased/derived");
}
TEST(TokenizerVectorsTest, AgreesWithLlamaCppOnPhi3) { expect_vectors("phi-3", "phi-3-mini"); }
TEST(TokenizerVectorsTest, AgreesWithLlamaCppOnLlama2) { expect_vectors("llama-spm", "llama2"); }

TEST(TokenizerVectorsTest, SeparatesRunsOfSpacesThatPhi2Added) {
  // The vectors of gpt-2 hold for phi-2 too, but for its added tokens of two and more spaces.
  const std::filesystem::path folder = test::shared_data() / "tokenizers/phi-2";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no tokenizer at " << folder;
  Result<Tokenizer> made = Tokenizer::load(folder);
  ASSERT_TRUE(made) << to_string(made.error());
  std::vector<TokenId> ids;
  ASSERT_TRUE(made->encode("   Hello", {.add_special = false, .parse_special = false}, ids));
  EXPECT_EQ(ids, (std::vector<TokenId>{50285, 15496}));
}

}  // namespace
}  // namespace weft
