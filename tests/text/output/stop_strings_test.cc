#include "weft/text/output/stop_strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/text/tokenizer/random_text.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

using test::FailsWith;
using Texts = std::vector<std::string>;

StopStrings compiled(const Texts& texts) { return StopStrings::compile(texts).value(); }

/// The rest of an output, and the stop string that ended it.
struct Kept {
  std::string text;
  std::optional<std::size_t> hit;

  friend bool operator==(const Kept&, const Kept&) = default;
  friend void PrintTo(const Kept& kept,  // NOLINT(readability-identifier-naming): GoogleTest's name
                      std::ostream* out) {
    *out << testing::PrintToString(kept.text) << " hit " << testing::PrintToString(kept.hit);
  }
};

/// Searches by the definition: the earliest beginning, there the shortest, of equal strings the
/// first.
Kept searched(const Texts& stops, const std::string& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::optional<std::size_t> hit;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const bool here = text.compare(at, stops[i].size(), stops[i]) == 0;
      if (here && (!hit || stops[i].size() < stops[*hit].size())) hit = i;
    }
    if (hit) return {text.substr(0, at), hit};
  }
  return {text, std::nullopt};
}

Kept streamed_parts(const StopStrings& stops, const std::vector<std::string>& parts) {
  StopScanner scanner(stops);
  Kept kept;
  for (const std::string& part : parts) {
    kept.hit = scanner.feed(part, kept.text);
    if (kept.hit) return kept;
  }
  kept.hit = scanner.flush(kept.text);
  return kept;
}

std::vector<std::string> cut_at_random(std::mt19937& random, const std::string& text,
                                       std::size_t longest) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    parts.push_back(text.substr(at, random() % (longest + 1)));  // empty ones too
    at += parts.back().size();
  }
  return parts;
}

std::string letters(std::mt19937& random, std::size_t most, unsigned alphabet) {
  std::string text(random() % (most + 1), 'a');
  for (char& c : text) c = static_cast<char>('a' + random() % alphabet);
  return text;
}

TEST(StopScannerTest, KeepsWhatASearchOfTheWholeTextKeepsHoweverItIsCut) {
  std::mt19937 random(20);
  std::array<int, 2> seen{};  // without and with a hit: both must be common
  for (int round = 0; round < 60'000; ++round) {
    const unsigned alphabet = 1 + static_cast<unsigned>(random() % 3);
    Texts stops(1 + random() % 5);
    for (std::string& stop : stops) stop = "a" + letters(random, 7, alphabet);
    for (std::string& stop : stops) std::ranges::shuffle(stop, random);
    const std::string text = letters(random, 30, alphabet + 1);
    const Kept wanted = searched(stops, text);
    ++seen[wanted.hit ? 1 : 0];
    const StopStrings all = compiled(stops);
    ASSERT_EQ(streamed_parts(all, {text}), wanted)
        << testing::PrintToString(stops) << " in " << text;
    ASSERT_EQ(streamed_parts(all, cut_at_random(random, text, 1)), wanted) << text;
    ASSERT_EQ(streamed_parts(all, cut_at_random(random, text, 6)), wanted) << text;
  }
  EXPECT_GT(seen[0], 5'000);
  EXPECT_GT(seen[1], 5'000);
}

TEST(StopScannerTest, KeepsTheSameOfLongTextsFullOfNearMisses) {
  std::mt19937 random(21);
  const std::string a(255, 'a');
  const Texts stops = {a + "b", "b" + a, "ba" + std::string(120, 'b'), "abba" + a.substr(0, 250)};
  const StopStrings all = compiled(stops);
  for (int round = 0; round < 30; ++round) {
    std::string text;
    while (text.size() < 4'000) {
      text.append(random() % (round % 2 == 0 ? 200 : 400), 'a').append(random() % 3, 'b');
    }
    EXPECT_EQ(streamed_parts(all, cut_at_random(random, text, 9)), searched(stops, text)) << round;
  }
}

TEST(StopScannerTest, GivesTextAsSoonAsNoStopStringCanHoldIt) {
  StopScanner scanner(compiled({"stop", "tonic"}));
  std::string out;
  const auto fed = [&](std::string_view text) {
    out.clear();
    EXPECT_FALSE(scanner.feed(text, out));
    return out;
  };
  EXPECT_EQ(fed("a line"), "a line");
  EXPECT_EQ(fed("sto"), "");
  EXPECT_EQ(fed("n"), "s");  // "ton" may become "tonic"
  EXPECT_EQ(fed("ss"), "tons");
  EXPECT_EQ(fed("e"), "se");
}

TEST(StopScannerTest, HoldsBackLessThanTheLongestStopString) {
  std::mt19937 random(22);
  const Texts stops = {"abab", "bbaab", "aab"};
  StopScanner scanner(compiled(stops));
  std::string out;
  std::string fed;
  std::size_t most = 0;
  while (fed.size() < 2'000) {
    const std::string part = letters(random, 2, 3);
    std::string next = fed + part;
    if (searched(stops, next).hit) continue;
    fed = std::move(next);
    ASSERT_FALSE(scanner.feed(part, out));
    ASSERT_TRUE(fed.starts_with(out));
    most = std::max(most, fed.size() - out.size());
  }
  EXPECT_EQ(most, 4U);  // "bbaa"
}

TEST(StopScannerTest, CutsWhereTheEarliestStopStringBegins) {
  const StopStrings stops = compiled({"Answer", "The Answer:"});
  EXPECT_EQ(streamed_parts(stops, {"So. The Answer: 4"}), (Kept{"So. ", 1}));
  EXPECT_EQ(streamed_parts(stops, {"So. The Ans", "wer", ":"}), (Kept{"So. ", 1}));
  EXPECT_EQ(streamed_parts(stops, {"So. The Answer", " is 4"}), (Kept{"So. The ", 0}));
}

TEST(StopScannerTest, CutsWhereAStopStringBeginsThatWaitedForALongerOneToTheEnd) {
  EXPECT_EQ(streamed_parts(compiled({"Answer", "The Answer:"}), {"The Ans", "wer"}),
            (Kept{"The ", 0}));
}

TEST(StopScannerTest, TakesTheShortestOfThoseThatBeginTogetherAndTheFirstOfEqualOnes) {
  EXPECT_EQ(streamed_parts(compiled({"\n\nUser:", "\n\n", "\n\n"}), {"Hi\n\nUser:"}),
            (Kept{"Hi", 1}));
}

TEST(StopScannerTest, DropsAllThatFollowsAHit) {
  StopScanner scanner(compiled({"END"}));
  std::string out;
  EXPECT_EQ(scanner.feed("the END of", out), 0U);
  EXPECT_EQ(scanner.feed(" it, END", out), 0U);
  EXPECT_EQ(scanner.flush(out), 0U);
  EXPECT_EQ(out, "the ");
}

TEST(StopScannerTest, PassesAllWhenThereIsNothingToStopAt) {
  EXPECT_EQ(streamed_parts(compiled({}), {"as it", " is"}), (Kept{"as it is", std::nullopt}));
}

// The lead bytes agree, so parts of a character are a beginning of a stop string.
TEST(StopScannerTest, GivesWholeCharactersForWholeCharacters) {
  std::mt19937 random(23);
  const StopStrings stops = compiled({"\u6F22\u6F21", "\u6F23", "\U0001F680\u200D\U0001F681"});
  for (int round = 0; round < 2'000; ++round) {
    StopScanner scanner(stops);
    std::string all;
    std::string given;
    for (int part = 0; part < 6; ++part) {
      const std::string text = part % 2 == 0 ? test::random_text(random, 1) : "\u6F22";
      std::string out;
      ASSERT_FALSE(scanner.feed(text, out));
      ASSERT_EQ(valid_utf8_prefix(out), out.size());
      all += text;
      given += out;
    }
    std::string rest;
    ASSERT_FALSE(scanner.flush(rest));
    ASSERT_EQ(given + rest, all);
  }
}

TEST(StopStringsTest, KnowsItsTexts) {
  const Texts texts = {"b", "a", "b"};
  const StopStrings stops = compiled(texts);
  ASSERT_EQ(stops.size(), 3U);
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(stops.text(i), texts[i]);
  EXPECT_TRUE(StopStrings().empty());
  EXPECT_TRUE(compiled({}).empty());
  EXPECT_EQ(compiled({}).size(), 0U);
}

TEST(StopStringsTest, TakesAsManyAndAsLongOnesAsAllowed) {
  std::mt19937 random(24);
  Texts texts;
  for (std::size_t i = 0; i < StopStrings::kMaxStrings; ++i) {
    std::string text(StopStrings::kMaxStringBytes, ' ');
    for (char& c : text) c = static_cast<char>(1 + random() % 127);
    texts.push_back(std::move(text));
  }
  const StopStrings stops = compiled(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(streamed_parts(stops, {texts[0].substr(0, 99), texts[i]}).hit, i);
  }
}

TEST(StopStringsTest, NamesTheTextThatItRefuses) {
  const auto refused = [](const Texts& texts) { return StopStrings::compile(texts); };
  EXPECT_THAT(refused({"a", ""}), FailsWith(TextErrc::kBadStopString, "stop[1] is empty"));
  EXPECT_THAT(refused({std::string(257, 'a')}),
              FailsWith(TextErrc::kBadStopString, "stop[0] has 257 bytes, 256 are allowed"));
  EXPECT_THAT(refused({"a", "b", "ab\xC3"}),
              FailsWith(TextErrc::kBadStopString, "stop[2] is not UTF-8 at byte 2"));
  EXPECT_THAT(refused(Texts(10'000, "a")),
              FailsWith(TextErrc::kBadStopString,
                        "stop[16] is one too many: there are 10000, 16 are allowed"));
}

}  // namespace
}  // namespace weft
