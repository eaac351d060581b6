#include "weft/actors/request/vectors/mask_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TokenId kCls = 1;
constexpr TokenId kSep = 2;
constexpr TokenId kMask = 4;
constexpr TokenId kA = 5;  // and so on
constexpr std::size_t kVocabulary = 31;

Tokenizer words() {
  return Tokenizer::load(test::source_path("tests/model/data/vectors/bert-masked")).value();
}

/// Logits that are all equal, except the given ones.
std::vector<float> logits_of(const std::vector<std::pair<TokenId, float>>& stated,
                             std::size_t size = kVocabulary) {
  std::vector<float> logits(size, -100);
  for (const auto& [token, logit] : stated) logits[static_cast<std::size_t>(token)] = logit;
  return logits;
}

void read(MaskReader& reader, std::int32_t position, const std::vector<float>& logits) {
  TokenActivations token;
  token.position = position;
  token.logits = logits;
  reader.read(token);
}

std::vector<std::string> sequences_of(const std::vector<MaskFill>& fills) {
  std::vector<std::string> sequences;
  for (const MaskFill& fill : fills) sequences.push_back(fill.sequence);
  return sequences;
}

TEST(MaskReader, GivesTheMostProbableTokensFirst) {
  MaskReader reader(words(), {kCls, kA, kMask, kSep}, 2);
  EXPECT_TRUE(reader.wants_logits());
  EXPECT_EQ(reader.first_position(), 2);
  EXPECT_EQ(reader.end_position(), 3);
  EXPECT_FALSE(reader.complete());
  read(reader, 2, logits_of({{kA, 0}, {kA + 1, std::log(3.0F)}, {kA + 2, -50}}));
  ASSERT_TRUE(reader.complete());
  Finish finish;
  reader.give(finish);
  ASSERT_EQ(finish.masks.size(), 1);
  const std::vector<MaskFill>& fills = finish.masks[0];
  ASSERT_EQ(fills.size(), 2);
  EXPECT_EQ(fills[0].token, kA + 1);
  EXPECT_FLOAT_EQ(fills[0].score, 0.75F);
  EXPECT_FLOAT_EQ(fills[1].score, 0.25F);
  EXPECT_EQ(fills[0].text, "b");
  EXPECT_THAT(sequences_of(fills), ElementsAre("a b", "a a"));
}

TEST(MaskReader, KeepsOtherMasksInTheSequenceWithTheSpecialTokens) {
  MaskReader reader(words(), {kCls, kMask, kA, kMask, kSep}, 1);
  EXPECT_EQ(reader.first_position(), 1);
  EXPECT_EQ(reader.end_position(), 4);
  read(reader, 1, logits_of({{kA + 1, 0}}));
  read(reader, 2, logits_of({{kA + 9, 0}}));  // no mask stands there
  EXPECT_FALSE(reader.complete());
  read(reader, 3, logits_of({{kA + 2, 0}}));
  ASSERT_TRUE(reader.complete());
  Finish finish;
  reader.give(finish);
  ASSERT_EQ(finish.masks.size(), 2);
  EXPECT_THAT(sequences_of(finish.masks[0]), ElementsAre("[CLS] b a [MASK] [SEP]"));
  EXPECT_THAT(sequences_of(finish.masks[1]), ElementsAre("[CLS] [MASK] a c [SEP]"));
}

TEST(MaskReader, ReadsAnInterruptedPromptAgain) {
  MaskReader reader(words(), {kMask}, 1);
  read(reader, 0, logits_of({{kA, 0}}));
  read(reader, 0, logits_of({{kA + 1, 0}}));
  Finish finish;
  reader.give(finish);
  EXPECT_THAT(sequences_of(finish.masks.at(0)), ElementsAre("b"));
}

TEST(MaskReader, OffersNoTokenThatTheTokenizerLacks) {
  MaskReader reader(words(), {kMask}, 1000);
  read(reader, 0, logits_of({{kA, 0}, {TokenId{kVocabulary}, 0}}, kVocabulary + 1));
  Finish finish;
  reader.give(finish);
  ASSERT_EQ(finish.masks.at(0).size(), kVocabulary);
  EXPECT_EQ(finish.masks[0][0].token, kA);
  EXPECT_FLOAT_EQ(finish.masks[0][0].score, 0.5F) << "what it lacks takes its part of the sum";
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(MaskReader, SaysThatTheModelGaveNoNumbers) {
  MaskReader reader(words(), {kMask}, 3);
  EXPECT_FALSE(reader.complete());
  read(reader, 0, std::vector<float>(kVocabulary, kNaN));
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(reader.lacks_numbers());
}

TEST(MaskReader, LeavesOutTokensWhoseLogitIsNotANumber) {
  MaskReader reader(words(), {kMask}, 1000);
  read(reader, 0, logits_of({{kA, 0}, {kA + 1, kNaN}}));
  ASSERT_TRUE(reader.complete());
  EXPECT_FALSE(reader.lacks_numbers());
  Finish finish;
  reader.give(finish);
  ASSERT_EQ(finish.masks.at(0).size(), kVocabulary - 1);
  EXPECT_EQ(finish.masks[0][0].token, kA);
  EXPECT_FLOAT_EQ(finish.masks[0][0].score, 1.0F);
}

TEST(MaskReader, FindsMaskTokens) {
  EXPECT_THAT(mask_positions(std::vector<TokenId>{kMask, kA, kMask}, kMask), ElementsAre(0, 2));
  EXPECT_THAT(mask_positions(std::vector<TokenId>{kA}, kMask), IsEmpty());
}

}  // namespace
}  // namespace weft
