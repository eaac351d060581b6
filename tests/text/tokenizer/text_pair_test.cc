#include "weft/text/tokenizer/text_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::IsEmpty;

using Tokens = std::vector<TokenId>;

constexpr PairBound kNoBound{std::numeric_limits<std::size_t>::max()};

/// The tokenizers of models that give vectors: "a" is 4, "b" is 5, and so on.
Tokenizer tokenizer_of(const std::string& model) {
  return Tokenizer::load(test::source_path("tests/model/data/vectors/" + model)).value();
}

struct Encoded {
  Tokens ids;
  std::int32_t second_text = 0;
};

Encoded encode(const Tokenizer& tokenizer, const TextPair& texts,
               const PairBound& bound = kNoBound) {
  Encoded encoded;
  encoded.second_text = encode_pair(tokenizer, texts, bound, encoded.ids).value();
  return encoded;
}

TEST(TextPair, StandsAsTheTemplateSays) {
  const Encoded bert = encode(tokenizer_of("bert-reranker"), {"a b", "c"});
  EXPECT_THAT(bert.ids, ElementsAre(1, 4, 5, 2, 6, 2));
  EXPECT_EQ(bert.second_text, 4) << "from there on the token type is 1";
  const Encoded roberta = encode(tokenizer_of("roberta-classifier"), {"a b", "c"});
  EXPECT_THAT(roberta.ids, ElementsAre(0, 4, 5, 2, 2, 6, 2));
  EXPECT_EQ(roberta.second_text, 0) << "it has one token type";
  EXPECT_THAT(encode(tokenizer_of("llama-classifier"), {"a b", "c"}).ids, ElementsAre(4, 5, 6, 2));
}

// As transformers does it with truncation=True.
TEST(TextPair, IsCutWhereItIsLongest) {
  const Tokenizer bert = tokenizer_of("bert-reranker");
  const auto cut = [&](std::string_view first, std::string_view second, std::size_t most) {
    return encode(bert, {first, second}, {most, true}).ids;
  };
  EXPECT_THAT(cut("a b", "c d e f g h i j k l", 8), ElementsAre(1, 4, 5, 2, 6, 7, 8, 2));
  EXPECT_THAT(cut("a b c d e f", "g h i j k l", 8), ElementsAre(1, 4, 5, 2, 10, 11, 12, 2));
  EXPECT_THAT(cut("a b c d e f g h", "i", 9), ElementsAre(1, 4, 5, 6, 7, 8, 2, 12, 2));
  EXPECT_THAT(cut("a b c", "d e f g", 7), ElementsAre(1, 4, 5, 2, 7, 8, 2));
}

TEST(TextPair, IsRefusedWhereItIsTooLong) {
  const Tokenizer bert = tokenizer_of("bert-reranker");
  Tokens ids{9};
  EXPECT_THAT(encode_pair(bert, {"a b", "c"}, {5}, ids),
              FailsWith(TextErrc::kTooManyTokens, "at least 6 tokens"));
  EXPECT_THAT(encode_pair(bert, {"a b", "c"}, {2, true}, ids),
              FailsWith(TextErrc::kTooManyTokens, "tokens"))
      << "there is no room for what stands around the texts";
  EXPECT_THAT(ids, ElementsAre(9));
}

TEST(TextPair, IsRefusedWhereTheTokenizerSaysNoForm) {
  const Tokenizer odd =
      Tokenizer::from_json(
          R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},)"
          R"("post_processor": {"type": "TemplateProcessing", "special_tokens": {},)"
          R"("single": [{"Sequence": {"id": "A", "type_id": 0}}],)"
          R"("pair": [{"Sequence": {"id": "B", "type_id": 0}},)"
          R"({"Sequence": {"id": "A", "type_id": 1}}]}})",
          "odd")
          .value();
  Tokens ids;
  EXPECT_THAT(encode_pair(odd, {"a", "b"}, kNoBound, ids),
              FailsWith(TextErrc::kUnknownTokenizerPart, "two texts"));
  EXPECT_THAT(ids, IsEmpty());
}

TEST(TextPair, OneTextIsCutAtItsEnd) {
  const Tokenizer bert = tokenizer_of("bert-reranker");
  Tokens ids;
  ASSERT_TRUE(encode_cut(bert, "a b c d e", {.tokens = 4}, ids));
  EXPECT_THAT(ids, ElementsAre(1, 4, 5, 2));
  ids.clear();
  ASSERT_TRUE(encode_cut(bert, "a b", {.tokens = 9}, ids));
  EXPECT_THAT(ids, ElementsAre(1, 4, 5, 2));
}

TEST(TextPair, OneTextIsCutAtItsBeginningWhereThatIsSaid) {
  const Tokenizer bert = tokenizer_of("bert-reranker");
  Tokens ids;
  ASSERT_TRUE(encode_cut(bert, "a b c d e", {.tokens = 4, .begin = true}, ids));
  EXPECT_THAT(ids, ElementsAre(1, 7, 8, 2));
}

TEST(TextPair, ATextIsCutByItsOwnTokensToo) {
  const Tokenizer bert = tokenizer_of("bert-reranker");
  Tokens ids;
  ASSERT_TRUE(encode_cut(bert, "a b c d e", {.tokens = 9, .own = 3}, ids));
  EXPECT_THAT(ids, ElementsAre(1, 4, 5, 6, 2));
}

TEST(TextPair, TheSecondTextIsCutBeforeItMeetsTheFirst) {
  const Tokenizer bert = tokenizer_of("bert-reranker");
  const auto cut = [&](const PairBound& bound) {
    return encode(bert, {"a b", "c d e f"}, bound).ids;
  };
  EXPECT_THAT(cut({.tokens = 100, .second = 2}), ElementsAre(1, 4, 5, 2, 6, 7, 2));
  EXPECT_THAT(cut({.tokens = 100, .second = 2, .cut_begin = true}),
              ElementsAre(1, 4, 5, 2, 8, 9, 2));
  EXPECT_THAT(cut({.tokens = 7, .cuts = true, .cut_begin = true}),
              ElementsAre(1, 4, 5, 2, 8, 9, 2));
}

}  // namespace
}  // namespace weft
