#include "weft/text/output/incremental_detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/tests/text/json_data.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

std::vector<Tokenizer> test_tokenizers() {
  std::vector<Tokenizer> all;
  const boost::json::value data = test::read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    Result<Tokenizer> made =
        Tokenizer::from_json(boost::json::serialize(entry.at("tokenizer")), "test");
    EXPECT_TRUE(made);
    all.push_back(*made);
  }
  return all;
}

std::string streamed_text(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool skip) {
  IncrementalDetokenizer detokenizer(tokenizer, skip);
  std::string text;
  for (const TokenId id : ids) {
    const Result<std::string> part = detokenizer.push(id);
    EXPECT_TRUE(part);
    EXPECT_EQ(valid_utf8_prefix(*part), part->size());
    text += *part;
  }
  return text + detokenizer.finish();
}

void expect_same_text(const Tokenizer& tokenizer, int rounds) {
  std::mt19937 random(17);
  for (int round = 0; round < rounds; ++round) {
    std::vector<TokenId> ids(random() % 40);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % tokenizer.vocabulary_size());
    const bool skip = round % 2 == 0;
    EXPECT_EQ(streamed_text(tokenizer, ids, skip), *tokenizer.decode(ids, skip));
  }
}

TEST(IncrementalDetokenizerTest, GivesInPartsWhatDecodeGivesAtOnce) {
  for (const Tokenizer& tokenizer : test_tokenizers()) expect_same_text(tokenizer, 500);
}

TEST(IncrementalDetokenizerTest, GivesTheSameForRealTokenizers) {
  int found = 0;
  const std::filesystem::path folder = test::shared_data() / "tokenizers";
  for (const char* name : {"gpt2", "phi-2", "llama3.2/derived", "llama2", "phi-3-mini", "t5-small",
                           "clip", "bert-base-uncased/derived"}) {
    if (!std::filesystem::exists(folder / name / "tokenizer.json")) continue;
    Result<Tokenizer> tokenizer = Tokenizer::load(folder / name);
    ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
    expect_same_text(*tokenizer, 200);
    ++found;
  }
  if (found == 0) GTEST_SKIP() << "no tokenizers at " << folder;
}

TEST(IncrementalDetokenizerTest, ATextThatGoesOnKeepsTheSpaceAtItsBeginning) {
  for (const Tokenizer& tokenizer : test_tokenizers()) {
    // For tokens that are whole texts by themselves, the ends are reported in the same way.
    std::vector<TokenId> plain;
    for (TokenId id = 0; std::cmp_less(id, tokenizer.vocabulary_size()); ++id) {
      const std::string text = tokenizer.decode(std::vector<TokenId>{id, id}, false).value();
      const bool whole = text.find("\uFFFD") == std::string::npos && text.size() > 1;
      const std::string name(*tokenizer.token(id));
      if (whole && !name.starts_with("<0x") && !tokenizer.is_special(id)) plain.push_back(id);
      if (plain.size() == 64) break;
    }
    for (std::size_t i = 0; i + 2 < plain.size(); ++i) {
      IncrementalDetokenizer goes_on(tokenizer, false);
      goes_on.go_on();
      std::string text;
      for (const TokenId id : {plain[i + 1], plain[i + 2]}) text += *goes_on.push(id);
      text += goes_on.finish();
      const std::string all =
          tokenizer.decode(std::vector<TokenId>{plain[i], plain[i + 1], plain[i + 2]}, false)
              .value();
      EXPECT_TRUE(all.ends_with(text)) << all << " | " << text;
      const std::string first = tokenizer.decode(std::vector<TokenId>{plain[i]}, false).value();
      EXPECT_GE(text.size() + first.size(), all.size()) << all << " | " << text;
    }
  }
}

TEST(IncrementalDetokenizerTest, HoldsACharacterBackUntilItIsWhole) {
  const Tokenizer tokenizer = test_tokenizers().at(0);  // bytes
  IncrementalDetokenizer detokenizer(tokenizer);
  // U+1F680 is F0 9F 9A 80.
  for (const char* byte : {"\u00F0", "\u0141", "\u013C"}) {
    EXPECT_EQ(*detokenizer.push(tokenizer.id_of(byte)), "") << byte;
  }
  EXPECT_EQ(*detokenizer.push(tokenizer.id_of("\u0122")), "\U0001F680");
  EXPECT_EQ(*detokenizer.push(tokenizer.id_of("\u00F0")), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
}

TEST(IncrementalDetokenizerTest, HoldsARunOfByteTokensBackUntilItEnds) {
  const Tokenizer tokenizer = test_tokenizers().at(1);  // byte fallback
  IncrementalDetokenizer detokenizer(tokenizer);
  EXPECT_EQ(*detokenizer.push(tokenizer.id_of("\u2581the")), "the");
  for (const char* byte : {"<0xE5>", "<0xAD>", "<0x97>"}) {
    EXPECT_EQ(*detokenizer.push(tokenizer.id_of(byte)), "");
  }
  EXPECT_EQ(*detokenizer.push(tokenizer.id_of("a")),
            "\u5B57"
            "a");
}

/// The part of the text that each token made.
std::vector<std::string> parts_of_tokens(const Tokenizer& tokenizer,
                                         const std::vector<TokenId>& ids) {
  IncrementalDetokenizer detokenizer(tokenizer);
  detokenizer.track_ends();
  std::string text;
  std::vector<std::size_t> ends;
  for (const TokenId id : ids) {
    EXPECT_TRUE(detokenizer.push(id, text));
    detokenizer.take_ends(ends);
  }
  detokenizer.finish(text);
  detokenizer.take_ends(ends);
  EXPECT_EQ(ends.size(), ids.size());
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    EXPECT_LE(begin, end);
    EXPECT_LE(end, text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size()) << "text of no token: " << text;
  return parts;
}

TEST(IncrementalDetokenizerTest, AllOfATextIsOfItsTokens) {
  std::mt19937 random(5);
  for (const Tokenizer& tokenizer : test_tokenizers()) {
    for (int round = 0; round < 300; ++round) {
      std::vector<TokenId> ids(random() % 30);
      for (TokenId& id : ids) id = static_cast<TokenId>(random() % tokenizer.vocabulary_size());
      static_cast<void>(parts_of_tokens(tokenizer, ids));
    }
  }
}

TEST(IncrementalDetokenizerTest, TokensHaveTheirBytesOfACharacterEach) {
  using Parts = std::vector<std::string>;
  const Tokenizer bytes = test_tokenizers().at(0);
  const auto id = [&](const char* token) { return bytes.id_of(token); };
  EXPECT_EQ(
      parts_of_tokens(bytes, {id("a"), id("\u00F0"), id("\u0141"), id("\u013C"), id("\u0122")}),
      (Parts{"a", "\xF0", "\x9F", "\x9A", "\x80"}));
  EXPECT_EQ(parts_of_tokens(bytes, {id("\u00F0"), id("\u0141"), id("a")}),
            (Parts{"\uFFFD", "", "a"}))
      << "what is no character is of the token that began it";
}

TEST(IncrementalDetokenizerTest, TokensOfARunOfByteTokensHaveAByteEach) {
  using Parts = std::vector<std::string>;
  const Tokenizer tokenizer = test_tokenizers().at(1);  // byte fallback
  const auto id = [&](const char* token) { return tokenizer.id_of(token); };
  EXPECT_EQ(parts_of_tokens(tokenizer,
                            {id("\u2581the"), id("<0xE5>"), id("<0xAD>"), id("<0x97>"), id("a")}),
            (Parts{"the", "\xE5", "\xAD", "\x97", "a"}))
      << "the space before the first word is not in the text";
  EXPECT_EQ(parts_of_tokens(tokenizer, {id("<0xE5>"), id("a"), id("<0xE5>")}),
            (Parts{"\uFFFD", "a", "\uFFFD"}));
}

TEST(IncrementalDetokenizerTest, RefusesAnIdThatIsNotThereAndGoesOn) {
  const Tokenizer tokenizer = test_tokenizers().at(0);
  IncrementalDetokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(-1).error().code, TextErrc::kNoSuchToken);
  EXPECT_EQ(*detokenizer.push(tokenizer.id_of("a")), "a");
}

TEST(IncrementalDetokenizerTest, OutlivesTheTokenizerItWasMadeFrom) {
  std::vector<Tokenizer> all = test_tokenizers();
  const TokenId id = all[0].id_of("a");
  IncrementalDetokenizer detokenizer(all[0]);
  all.clear();
  EXPECT_EQ(*detokenizer.push(id), "a");
}

}  // namespace
}  // namespace weft
