#include <gtest/gtest.h>

#include <sstream>

#include "weft/tests/text/json_data.h"
#include "weft/text/tokenizer.h"

namespace weft {
namespace {

struct Vector {
  std::string text;
  std::vector<TokenId> ids;
};

/// llama.cpp's vectors: texts parted by a line, one line of ids for each.
std::vector<Vector> read_vectors(const std::filesystem::path& stem) {
  constexpr std::string_view kParting = "\n__ggml_vocab_test__\n";
  const std::string texts = test::read_file(stem.string() + ".inp");
  std::istringstream lines(test::read_file(stem.string() + ".out"));
  std::vector<Vector> vectors;
  std::string line;
  for (std::size_t at = 0; at <= texts.size();) {
    std::getline(lines, line);  // the last one may be empty and without an end
    const std::size_t end = std::min(texts.find(kParting, at), texts.size());
    std::istringstream numbers(line);
    Vector vector{texts.substr(at, end - at), {}};
    for (TokenId id = 0; numbers >> id;) vector.ids.push_back(id);
    vectors.push_back(std::move(vector));
    line.clear();
    at = end == texts.size() ? end + 1 : end + kParting.size();
  }
  return vectors;
}

void expect_vectors(const std::string& vectors, const std::string& tokenizer) {
  const std::filesystem::path stem =
      test::shared_data() / "ggml-vocab" / ("ggml-vocab-" + vectors + ".gguf");
  const std::filesystem::path folder = test::shared_data() / "tokenizers" / tokenizer;
  if (!std::filesystem::exists(stem.string() + ".inp")) GTEST_SKIP() << "no vectors at " << stem;
  Result<Tokenizer> made = Tokenizer::load(folder);
  ASSERT_TRUE(made) << to_string(made.error());
  const std::vector<Vector> all = read_vectors(stem);
  EXPECT_EQ(all.size(), 47U);
  for (const Vector& vector : all) {
    std::vector<TokenId> ids;
    ASSERT_TRUE(made->encode(vector.text, {.add_special = false, .parse_special = false}, ids));
    EXPECT_EQ(ids, vector.ids) << vector.text;
  }
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
