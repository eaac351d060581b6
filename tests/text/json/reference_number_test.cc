#include "weft/text/json/reference_number.h"

#include <gtest/gtest.h>

#include <cmath>

#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

TEST(ReferenceNumberTest, RoundsTwiceAsTheReferenceDoes) {
  // Scores of t5-small, and the reference's values for them.
  EXPECT_EQ(reference_number(-2.0122928619384766), -2.012292861938477);
  EXPECT_EQ(reference_number(-3.9598512649536133), -3.9598512649536137);
  EXPECT_EQ(reference_number(7.6733808517456055), 7.673380851745605);
}

TEST(ReferenceNumberTest, LeavesNumbersOfFewDigits) {
  for (const double number : {0.0, -0.0, 1.0, -10.0, 12.5, -0.001, 1e22, 1.5e300, 5e-324}) {
    EXPECT_EQ(reference_number(number), number);
    EXPECT_EQ(std::signbit(reference_number(number)), std::signbit(number));
  }
  EXPECT_TRUE(std::isinf(reference_number(HUGE_VAL)));
  EXPECT_TRUE(std::isnan(reference_number(std::nan(""))));
}

TEST(ReferenceNumberTest, LetsUnigramDecideBetweenEqualPathsAsTheReferenceDoes) {
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(
      R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
          "decoder": null, "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
          "vocab": [["<unk>", 0.0], ["-", -5.129043102264404], ["---", -12.130167007446289],
                    ["\u2581", -2.0122928619384766]]}})",
      "ties.json");
  ASSERT_TRUE(tokenizer) << to_string(tokenizer.error());
  constexpr TokenId kOne = 1;
  constexpr TokenId kThree = 2;
  const auto encode = [&](std::size_t hyphens) {
    std::vector<TokenId> ids;
    EXPECT_TRUE(tokenizer->encode("\u2581" + std::string(hyphens, '-'), {}, ids));
    return std::vector<TokenId>(ids.begin() + 1, ids.end());
  };
  EXPECT_EQ(encode(7), (std::vector<TokenId>{kThree, kThree, kOne}));
  EXPECT_EQ(encode(8), (std::vector<TokenId>{kOne, kOne, kThree, kThree}));
  EXPECT_EQ(encode(10), (std::vector<TokenId>{kThree, kThree, kOne, kThree}));
  EXPECT_EQ(encode(11), (std::vector<TokenId>{kThree, kThree, kOne, kThree, kOne}));
}

}  // namespace
}  // namespace weft
