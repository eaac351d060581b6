#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tests/text/json_data.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft::test {

/// A text and the ids that llama.cpp makes of it, with nothing around it.
struct VocabVector {
  std::string text;
  std::vector<TokenId> ids;
};

/// Where llama.cpp's files for a vocabulary stand: this, this with ".inp" and with ".out".
inline std::filesystem::path vocab_file(const std::string& name) {
  return shared_data() / "ggml-vocab" / ("ggml-vocab-" + name + ".gguf");
}

/// Texts parted by a line, one line of ids for each.
inline std::vector<VocabVector> read_vocab_vectors(const std::string& name) {
  constexpr std::string_view kParting = "\n__ggml_vocab_test__\n";
  const std::string stem = vocab_file(name).string();
  const std::string texts = read_file(stem + ".inp");
  std::istringstream lines(read_file(stem + ".out"));
  std::vector<VocabVector> vectors;
  std::string line;
  for (std::size_t at = 0; at <= texts.size();) {
    std::getline(lines, line);  // the last one may be empty and without an end
    const std::size_t end = std::min(texts.find(kParting, at), texts.size());
    std::istringstream numbers(line);
    VocabVector vector{texts.substr(at, end - at), {}};
    for (TokenId id = 0; numbers >> id;) vector.ids.push_back(id);
    vectors.push_back(std::move(vector));
    line.clear();
    at = end == texts.size() ? end + 1 : end + kParting.size();
  }
  return vectors;
}

/// Expects of `tokenizer` the ids of all 47 vectors.
inline void expect_vocab_vectors(const Tokenizer& tokenizer, const std::string& name) {
  const std::vector<VocabVector> vectors = read_vocab_vectors(name);
  EXPECT_EQ(vectors.size(), 47U);
  for (const VocabVector& vector : vectors) {
    std::vector<TokenId> ids;
    ASSERT_TRUE(tokenizer.encode(vector.text, {.add_special = false, .parse_special = false}, ids));
    EXPECT_EQ(ids, vector.ids) << vector.text;
  }
}

}  // namespace weft::test
