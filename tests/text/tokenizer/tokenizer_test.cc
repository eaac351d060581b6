#include "weft/text/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <thread>

#include "weft/core/text/utf8.h"
#include "weft/tests/text/json_data.h"
#include "weft/tests/text/tokenizer/random_text.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

using test::ids_of;
using test::read_test_data;
using test::text_of;

constexpr EncodeOptions kTemplate{.add_special = false, .parse_special = true};
constexpr EncodeOptions kAround{.add_special = true, .parse_special = true};
constexpr EncodeOptions kUser{.add_special = false, .parse_special = false};

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text,
                            EncodeOptions options) {
  std::vector<TokenId> ids;
  const Result<void> done = tokenizer.encode(text, options, ids);
  EXPECT_TRUE(done) << to_string(done.error());
  return ids;
}

Tokenizer load(const boost::json::value& entry) {
  Result<Tokenizer> made = Tokenizer::from_json(boost::json::serialize(entry.at("tokenizer")),
                                                text_of(entry.at("name")));
  EXPECT_TRUE(made) << to_string(made.error());
  return *made;
}

Tokenizer load_named(std::string_view name) {
  const boost::json::value data = read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    if (entry.at("name").as_string() == boost::json::string_view(name.data(), name.size())) {
      return load(entry);
    }
  }
  ADD_FAILURE() << name;
  return load(data.at(0));
}

TEST(TokenizerTest, EncodesAsTheReferenceDoes) {
  const boost::json::value data = read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    const Tokenizer tokenizer = load(entry);
    for (const auto& example : entry.at("cases").as_array()) {
      const std::string text = text_of(example.at("text"));
      EXPECT_EQ(encode(tokenizer, text, kTemplate), ids_of(example.at("ids")))
          << entry.at("name") << " on " << example.at("text");
      EXPECT_EQ(encode(tokenizer, text, kAround), ids_of(example.at("around")))
          << entry.at("name") << " on " << example.at("text");
    }
  }
}

TEST(TokenizerTest, TakesTheTextOfSpecialTokensForTextWhenAskedTo) {
  const boost::json::value data = read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    const Tokenizer tokenizer = load(entry);
    for (const auto& example : entry.at("cases").as_array()) {
      const std::vector<TokenId> ids = encode(tokenizer, text_of(example.at("text")), kUser);
      for (const TokenId id : ids) {
        if (id != tokenizer.unknown()) {
          EXPECT_FALSE(tokenizer.is_special(id))
              << entry.at("name") << " on " << example.at("text") << ": " << id;
        }
      }
      // The reference lets Unigram find special tokens in text; here nothing does.
      if (!text_of(entry.at("name")).ends_with("unigram")) {
        EXPECT_EQ(ids, ids_of(example.at("plain")))
            << entry.at("name") << " on " << example.at("text");
      }
    }
  }
}

TEST(TokenizerTest, DecodesAsTheReferenceDoes) {
  const boost::json::value data = read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    const Tokenizer tokenizer = load(entry);
    for (const auto& example : entry.at("cases").as_array()) {
      const std::vector<TokenId> ids = ids_of(example.at("around"));
      EXPECT_EQ(*tokenizer.decode(ids, false), text_of(example.at("decoded")))
          << entry.at("name") << " on " << example.at("text");
      EXPECT_EQ(*tokenizer.decode(ids, true), text_of(example.at("skipped")))
          << entry.at("name") << " on " << example.at("text");
    }
  }
}

TEST(TokenizerTest, SaysWhatItsVocabularyIs) {
  const Tokenizer tokenizer = load_named("fallback_bpe");
  EXPECT_EQ(*tokenizer.token(1), "<s>");
  EXPECT_EQ(tokenizer.id_of("<s>"), 1);
  EXPECT_EQ(tokenizer.id_of("no such token"), kNoToken);
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_FALSE(tokenizer.is_special(5));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_EQ(tokenizer.unknown(), 0);
  EXPECT_EQ(tokenizer.tokens_before().size(), 1U);
  EXPECT_EQ(tokenizer.tokens_after().size(), 1U);
}

TEST(TokenizerTest, RefusesIdsOutsideTheVocabulary) {
  const Tokenizer tokenizer = load_named("word_level");
  const auto size = static_cast<TokenId>(tokenizer.vocabulary_size());
  for (const TokenId id : {TokenId{-1}, size, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(tokenizer.token(id).error().code, TextErrc::kNoSuchToken);
    EXPECT_EQ(tokenizer.decode(std::vector{TokenId{0}, id}, true).error().code,
              TextErrc::kNoSuchToken);
  }
}

TEST(TokenizerTest, TakesBytesThatAreNoUtf8AsReplacementCharacters) {
  const Tokenizer tokenizer = load_named("byte_level_bpe");
  EXPECT_EQ(encode(tokenizer, "a\xF0\x9F\x9A", kUser), encode(tokenizer, "a\uFFFD", kUser));
  EXPECT_EQ(encode(tokenizer, "\xFF\xC0\xAF", kUser),
            encode(tokenizer, "\uFFFD\uFFFD\uFFFD", kUser));
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (int i = 0; i < 30; ++i) bytes.push_back(static_cast<char>(random()));
    EXPECT_EQ(encode(tokenizer, bytes, kUser), encode(tokenizer, lossy_utf8(bytes), kUser));
  }
}

TEST(TokenizerTest, GivesByteLevelTextBackAsItWas) {
  const Tokenizer tokenizer = load_named("byte_level_bpe");
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::string text = test::random_text(random, 12);
    EXPECT_EQ(*tokenizer.decode(encode(tokenizer, text, kUser), false), text);
  }
}

TEST(TokenizerTest, AppendsToWhatIsThereAndLeavesItWhenItFails) {
  const Tokenizer tokenizer = load_named("word_level");
  std::vector<TokenId> ids = {3};
  ASSERT_TRUE(tokenizer.encode("the dog", kUser, ids));
  EXPECT_EQ(ids, (std::vector<TokenId>{3, 1, 2}));
}

TEST(TokenizerTest, EncodesOnManyThreadsAtOnce) {
  const Tokenizer tokenizer = load_named("byte_level_bpe");
  std::mt19937 random(3);
  std::vector<std::string> texts;
  std::vector<std::vector<TokenId>> wanted;
  for (int i = 0; i < 50; ++i) {
    texts.push_back(test::random_text(random, 20));
    wanted.push_back(encode(tokenizer, texts.back(), kUser));
  }
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, copy = tokenizer] {
      for (int round = 0; round < 4; ++round) {
        for (std::size_t i = 0; i < texts.size(); ++i) {
          std::vector<TokenId> ids;
          EXPECT_TRUE(copy.encode(texts[i], kUser, ids));
          EXPECT_EQ(ids, wanted[i]);
        }
      }
    });
  }
}

}  // namespace
}  // namespace weft
