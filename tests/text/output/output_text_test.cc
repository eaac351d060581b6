#include "weft/text/output/output_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/tests/fixture/allocation_count.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/text/json_data.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft {
namespace {

namespace json = boost::json;
using Texts = std::vector<std::string>;
using Hit = std::optional<std::size_t>;

/// Makes a tokenizer of these tokens, by id; the last one is special.
Tokenizer tokenizer_of(const Texts& tokens, const json::value& decoder) {
  json::object vocabulary;
  for (const std::string& token : tokens) vocabulary[token] = vocabulary.size();
  const json::array added = {{{"id", tokens.size() - 1},
                              {"content", tokens.back()},
                              {"special", true},
                              {"single_word", false},
                              {"lstrip", false},
                              {"rstrip", false},
                              {"normalized", false}}};
  const json::object model = {
      {"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", tokens.front()}};
  const json::object all = {{"added_tokens", added}, {"model", model}, {"decoder", decoder}};
  return Tokenizer::from_json(json::serialize(all), "made").value();
}

// The functions below make decoders as files have them.
json::value fuse() { return {{"type", "Fuse"}}; }
json::value byte_level_json() { return {{"type", "ByteLevel"}}; }
json::value llama() {
  return {{"type", "Sequence"},
          {"decoders",
           {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
            {{"type", "ByteFallback"}},
            {{"type", "Fuse"}},
            {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
}

StopStrings stops_of(const Texts& texts) { return StopStrings::compile(texts).value(); }

/// An output that is given tokens by their texts, and the text that each appended.
class Output {
 public:
  Output(Tokenizer tokenizer, const Texts& stops, bool skip_special = true)
      : tokenizer_(std::move(tokenizer)), text_(tokenizer_, stops_of(stops), skip_special) {}

  std::string push(std::string_view token) {
    std::string out;
    hit_ = text_.push(tokenizer_.id_of(token), out).value();
    return out;
  }

  std::string finish() {
    std::string out;
    hit_ = text_.finish(out);
    return out;
  }

  [[nodiscard]] Hit hit() const { return hit_; }

 private:
  Tokenizer tokenizer_;
  OutputText text_;
  Hit hit_;
};

TEST(OutputTextTest, FindsAStopStringThatLiesAcrossTokens) {
  Output output(tokenizer_of({"So", " it", " is.\n", "\nUser", ":", "<s>"}, fuse()),
                {"?", "\n\nUser:"});
  EXPECT_EQ(output.push("So"), "So");
  EXPECT_EQ(output.push(" is.\n"), " is.");
  EXPECT_EQ(output.push("\nUser"), "");
  EXPECT_EQ(output.hit(), std::nullopt);
  EXPECT_EQ(output.push(":"), "");
  EXPECT_EQ(output.hit(), 1U);
  EXPECT_EQ(output.push("So"), "");
  EXPECT_EQ(output.finish(), "");
  EXPECT_EQ(output.hit(), 1U);
}

TEST(OutputTextTest, GivesWhatWasHeldBackWhenTheOutputEnds) {
  Output output(tokenizer_of({"a", "b", "<s>"}, fuse()), {"abc"});
  EXPECT_EQ(output.push("a"), "");
  EXPECT_EQ(output.push("b"), "");
  EXPECT_EQ(output.finish(), "ab");
  EXPECT_EQ(output.hit(), std::nullopt);
}

TEST(OutputTextTest, FindsAStopStringInWhatTheDecoderHeldBackToTheEnd) {
  Output output(tokenizer_of({"a", "<0x0A>", "<s>"}, llama()), {"\n"});
  EXPECT_EQ(output.push("a"), "a");
  EXPECT_EQ(output.push("<0x0A>"), "");
  EXPECT_EQ(output.finish(), "");
  EXPECT_EQ(output.hit(), 0U);
}

TEST(OutputTextTest, FindsACharacterThatItsBytesMake) {
  Output output(tokenizer_of({"a", "\u00E6", "\u00BC", "\u00A2", "<s>"}, byte_level_json()),
                {"\u6F22"});
  EXPECT_EQ(output.push("a"), "a");
  EXPECT_EQ(output.push("\u00E6"), "");
  EXPECT_EQ(output.push("\u00BC"), "");
  EXPECT_EQ(output.push("\u00A2"), "");
  EXPECT_EQ(output.hit(), 0U);
}

TEST(OutputTextTest, EndsWithAReplacementForACharacterThatIsNotWhole) {
  Output output(tokenizer_of({"a", "\u00E6", "<s>"}, byte_level_json()), {"abc"});
  EXPECT_EQ(output.push("a"), "");
  EXPECT_EQ(output.push("\u00E6"), "");
  EXPECT_EQ(output.finish(), "a\uFFFD");
}

TEST(OutputTextTest, SeesSpecialTokensOnlyWhereTheyAreText) {
  const Tokenizer tokenizer = tokenizer_of({"a", "<end>"}, fuse());
  Output without(tokenizer, {"<end>"});
  EXPECT_EQ(without.push("<end>"), "");
  EXPECT_EQ(without.push("a"), "a");
  EXPECT_EQ(without.hit(), std::nullopt);
  Output with(tokenizer, {"<end>"}, false);
  EXPECT_EQ(with.push("<end>"), "");
  EXPECT_EQ(with.hit(), 0U);
}

TEST(OutputTextTest, RefusesAnIdThatIsNotThereAndGoesOn) {
  const Tokenizer tokenizer = tokenizer_of({"a", "<s>"}, fuse());
  OutputText text(tokenizer, stops_of({"z"}));
  std::string out;
  EXPECT_THAT(text.push(2, out), test::FailsWith(TextErrc::kNoSuchToken, "2"));
  EXPECT_EQ(text.push(0, out).value(), std::nullopt);
  EXPECT_EQ(out, "a");
}

std::vector<Tokenizer> test_tokenizers() {
  std::vector<Tokenizer> all;
  const json::value data = test::read_test_data("tokenizers.json");
  for (const auto& entry : data.as_array()) {
    all.push_back(Tokenizer::from_json(json::serialize(entry.at("tokenizer")), "test").value());
  }
  return all;
}

std::vector<TokenId> random_ids(std::mt19937& random, const Tokenizer& tokenizer,
                                std::size_t count) {
  std::vector<TokenId> ids(count);
  for (TokenId& id : ids) id = static_cast<TokenId>(random() % tokenizer.vocabulary_size());
  return ids;
}

/// Returns the text before the first occurrence of `stop`; all of it when there is none.
std::string before(const std::string& text, const std::string& stop) {
  return text.substr(0, text.find(stop));
}

/// Returns some character of the text and the one behind it.
std::string two_characters(std::mt19937& random, const std::string& text) {
  const std::u32string all = to_code_points(text);
  if (all.empty()) return "?";
  std::string two;
  const std::size_t at = random() % all.size();
  for (const char32_t code : all.substr(at, 2)) append_utf8(two, code);
  return two;
}

TEST(OutputTextTest, GivesWhatDecodeGivesUpToTheStopString) {
  std::mt19937 random(31);
  for (const Tokenizer& tokenizer : test_tokenizers()) {
    int hits = 0;
    for (int round = 0; round < 200; ++round) {
      const auto ids = random_ids(random, tokenizer, random() % 40);
      const std::string whole = tokenizer.decode(ids, true).value();
      const std::string stop = two_characters(random, whole);
      OutputText text(tokenizer, stops_of({stop}));
      std::string all;
      for (const TokenId id : ids) {
        std::string out;
        ASSERT_TRUE(text.push(id, out));
        ASSERT_EQ(valid_utf8_prefix(out), out.size());
        all += out;
      }
      const Hit hit = text.finish(all);
      ASSERT_EQ(all, before(whole, stop)) << testing::PrintToString(stop) << " in " << whole;
      ASSERT_EQ(hit.has_value(), whole.find(stop) != std::string::npos);
      hits += hit ? 1 : 0;
    }
    EXPECT_GT(hits, 100);
  }
}

TEST(OutputTextTest, DelaysNoTextThatTheDecoderGivesWhenThereIsNothingToStopAt) {
  std::mt19937 random(32);
  for (const Tokenizer& tokenizer : test_tokenizers()) {
    IncrementalDetokenizer decoder(tokenizer);
    OutputText text(tokenizer, {});
    for (const TokenId id : random_ids(random, tokenizer, 300)) {
      std::string out;
      ASSERT_EQ(text.push(id, out).value(), std::nullopt);
      ASSERT_EQ(out, decoder.push(id).value());
    }
    std::string out;
    EXPECT_EQ(text.finish(out), std::nullopt);
    EXPECT_EQ(out, decoder.finish());
  }
}

/// Makes tokens that are too long for a string's inline buffer, with whatever decoders look for.
Texts long_tokens(std::mt19937& random) {
  const Texts parts = {"\u2581", "\u0120", "</w>", "##", " .", " do not", "|", "word", "\u00E6"};
  Texts tokens;
  for (int i = 0; i < 200; ++i) {
    std::string token = std::to_string(i);
    while (token.size() < 20 + random() % 60) token += parts[random() % parts.size()];
    tokens.push_back(std::move(token));
  }
  for (unsigned byte = 0; byte < 40; ++byte) {
    tokens.push_back(byte_token(static_cast<unsigned char>('A' + byte)));
  }
  tokens.emplace_back("<s>");
  return tokens;
}

TEST(OutputTextTest, AllocatesNothingOnceItsBuffersHaveTheirSize) {
  const std::vector<json::value> decoders = {
      fuse(),
      byte_level_json(),
      llama(),
      {{"type", "BPEDecoder"}, {"suffix", "</w>"}},
      {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}},
      {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}},
      {{"type", "CTC"}, {"pad_token", "#"}, {"word_delimiter_token", "|"}, {"cleanup", true}},
      {{"type", "Replace"}, {"pattern", {{"String", "o"}}}, {"content", "ooo"}},
      nullptr};
  const std::string near_miss(StopStrings::kMaxStringBytes, 'w');
  std::mt19937 random(33);
  for (const json::value& decoder : decoders) {
    const Tokenizer tokenizer = tokenizer_of(long_tokens(random), decoder);
    for (const Texts& stops : {Texts{}, Texts{"wordy", " do nought", "\u2581\u0120?", near_miss}}) {
      OutputText text(tokenizer, stops_of(stops));
      std::string out;
      out.reserve(4'096);
      // The bytes that came, 0 once the output is over.
      const auto push_all = [&](const std::vector<TokenId>& ids) {
        std::size_t bytes = 0;
        for (const TokenId id : ids) {
          out.clear();
          bytes = text.push(id, out).value() ? 0 : bytes + out.size();
        }
        return bytes;
      };
      push_all(random_ids(random, tokenizer, 5'000));
      const auto ids = random_ids(random, tokenizer, 10'000);
      const std::size_t at_first = test::allocations_of_this_thread();
      EXPECT_GT(push_all(ids), 100'000U);
      EXPECT_EQ(test::allocations_of_this_thread() - at_first, 0U) << json::serialize(decoder);
    }
  }
}

TEST(AllocationCountTest, SeesEachFormOfNew) {
  const std::size_t at_first = test::allocations_of_this_thread();
  const auto one = std::make_unique<std::string>(100, 'a');
  const auto many = std::make_unique<int[]>(10);
  struct alignas(64) Wide {
    char bytes[64];
  };
  const auto wide = std::make_unique<Wide>();
  EXPECT_EQ(test::allocations_of_this_thread() - at_first, 4U);
}

}  // namespace
}  // namespace weft
