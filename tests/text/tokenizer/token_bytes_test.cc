#include "weft/text/tokenizer/token_bytes.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/tests/text/json_data.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

Tokenizer tokenizer_named(std::string_view name) {
  const boost::json::value data = test::read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    if (test::text_of(entry.at("name")) != name) continue;
    return Tokenizer::from_json(boost::json::serialize(entry.at("tokenizer")), "test").value();
  }
  throw std::invalid_argument(std::string(name));
}

std::string bytes_of(const Decoder& decoder, std::string_view token) {
  std::string bytes;
  append_token_bytes(decoder, token, bytes);
  return bytes;
}

const Decoder sentence_piece({ReplaceStep{std::string("\u2581"), " "}, ByteFallbackStep{},
                              FuseStep{}, StripDecoderStep{" ", 1, 0}});

TEST(TokenBytesTest, GivesPartsOfCharacters) {
  const Decoder byte_level({ByteLevelDecoderStep{}});
  EXPECT_EQ(bytes_of(byte_level, "\u0120the"), " the");
  EXPECT_EQ(bytes_of(byte_level, "\u00E2\u0124"), "\xE2\x82");
  EXPECT_EQ(bytes_of(byte_level, "\u6F22"), "\u6F22") << "not in the alphabet: stands for itself";
  EXPECT_EQ(bytes_of(sentence_piece, "<0xE2>"), "\xE2");
}

TEST(TokenBytesTest, KeepsTheSpaceThatOnlyTheBeginningOfATextLoses) {
  EXPECT_EQ(bytes_of(sentence_piece, "\u2581the"), " the");
  EXPECT_EQ(bytes_of(Decoder({MetaspaceDecoderStep{"\u2581", true}}), "\u2581the"), " the");
}

TEST(TokenBytesTest, TakesAWordPieceForTheMiddleOfAText) {
  const Decoder word_piece({WordPieceDecoderStep{"##", true}});
  EXPECT_EQ(bytes_of(word_piece, "##ing"), "ing");
  EXPECT_EQ(bytes_of(word_piece, "run"), " run");
}

TEST(TokenBytesTest, EndsAWordWhereItsSuffixStands) {
  EXPECT_EQ(bytes_of(Decoder({BpeDecoderStep{"</w>"}}), "run</w>"), "run ");
  EXPECT_EQ(bytes_of(Decoder({CtcStep{"<pad>", "|", true}}), "|"), " ");
  EXPECT_EQ(bytes_of(Decoder(), "word"), "word");
}

TEST(TokenBytesTest, StripsEachTokenBeforeTheyAreFused) {
  EXPECT_EQ(bytes_of(Decoder({StripDecoderStep{"_", 1, 2}}), "__a___"), "_a_");
}

TEST(TokenBytesTest, PutTogetherAreWhatDecodeGives) {
  const Tokenizer tokenizer = tokenizer_named("byte_level_bpe");
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<TokenId> ids(random() % 30);
    std::string bytes;
    for (TokenId& id : ids) {
      id = static_cast<TokenId>(random() % tokenizer.vocabulary_size());
      ASSERT_TRUE(tokenizer.append_bytes(id, bytes));
    }
    EXPECT_EQ(lossy_utf8(bytes), *tokenizer.decode(ids, false));
  }
}

TEST(TokenBytesTest, RefusesATokenThatIsNotInTheVocabulary) {
  const Tokenizer tokenizer = tokenizer_named("byte_level_bpe");
  std::string bytes = "as it was";
  for (const TokenId id : {kNoToken, static_cast<TokenId>(tokenizer.vocabulary_size())}) {
    const Result<void> done = tokenizer.append_bytes(id, bytes);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, TextErrc::kNoSuchToken);
  }
  EXPECT_EQ(bytes, "as it was");
}

}  // namespace
}  // namespace weft
