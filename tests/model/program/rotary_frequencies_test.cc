#include "weft/model/program/rotary_frequencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/model/model_error.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;
using testing::IsEmpty;
using testing::Pointwise;

constexpr std::int32_t kSize = 16;

Result<RotaryFrequencies> frequencies(std::string_view scaling, double theta = 10000,
                                      std::int64_t context = 131072, std::int64_t trained = 4096) {
  return rotary_frequencies(kSize, theta, boost::json::parse(scaling), context, trained);
}

MATCHER(IsClose, "") {  // NOLINT(readability-identifier-naming): a matcher
  const float got = std::get<0>(arg);
  const float wanted = std::get<1>(arg);
  return std::abs(got - wanted) <= 3e-7F * wanted;
}

auto are(const std::vector<float>& wanted) { return Pointwise(IsClose(), wanted); }

// The numbers below are transformers 5.23's inv_freq for heads of 16.

std::vector<float> plain_numbers() {
  return {1.0F,           0.316227764F,   0.100000001F,   0.0316227786F,
          0.00999999978F, 0.00316227786F, 0.00100000005F, 0.000316227786F};
}

TEST(RotaryFrequenciesTest, ArePowersOfThetaWithoutScaling) {
  for (const char* none :
       {"null", "{}", R"({"rope_type": "default", "rope_theta": 1})", R"({"type": "default"})",
        R"({"rope_type": null})", R"({"type": "mrope", "mrope_section": [1, 2]})"}) {
    const RotaryFrequencies got = frequencies(none).value();
    EXPECT_THAT(got.frequency, are(plain_numbers())) << none;
    EXPECT_EQ(got.magnitude, 1);
    EXPECT_THAT(got.long_frequency, IsEmpty());
  }
}

TEST(RotaryFrequenciesTest, LeaveTheLastPairsAsTheyAreWhereThoseThatTurnAreAPart) {
  const auto turning = [](std::string_view fields) {
    return frequencies(R"({"rope_type": "proportional")" + std::string(fields) + "}");
  };
  EXPECT_THAT(turning("").value().frequency, are(plain_numbers()));
  for (const char* part : {"0.25", "0.3"}) {
    EXPECT_THAT(turning(R"(, "partial_rotary_factor": )" + std::string(part)).value().frequency,
                are({1.0F, 0.316227764F, 0, 0, 0, 0, 0, 0}));
  }
  EXPECT_THAT(turning(R"(, "partial_rotary_factor": 0.125, "factor": 4.0)").value().frequency,
              are({0.25F, 0, 0, 0, 0, 0, 0, 0}));
  for (const char* wrong : {"-0.5", "1.5"}) {
    EXPECT_THAT(turning(R"(, "partial_rotary_factor": )" + std::string(wrong)),
                FailsWith(ModelErrc::kBadConfig, "partial_rotary_factor of 0 to 1"));
  }
}

TEST(RotaryFrequenciesTest, DivideByTheFactorOfLinearScaling) {
  EXPECT_THAT(frequencies(R"({"type": "linear", "factor": 4.0})").value().frequency,
              are({0.25F, 0.079056941F, 0.0250000004F, 0.00790569466F, 0.00249999994F,
                   0.000790569466F, 0.000250000012F, 7.90569466e-05F}));
}

TEST(RotaryFrequenciesTest, AreDividedByTheNumbersThatAFileStates) {
  std::vector<float> wanted = plain_numbers();
  wanted[2] /= 2;
  wanted[7] /= 8;
  EXPECT_THAT(frequencies(R"({"divisors": [1, 1, 2, 1, 1, 1, 1, 8]})").value().frequency,
              are(wanted));
  for (const char* wrong : {"[1, 2]", "[1, 1, 0, 1, 1, 1, 1, 8]"}) {
    EXPECT_THAT(frequencies(std::string(R"({"divisors": )") + wrong + "}"),
                FailsWith(ModelErrc::kBadConfig, "divisors must be 8 positive numbers"));
  }
}

TEST(RotaryFrequenciesTest, DoNotChangeWithinTheTrainedContextOfDynamicScaling) {
  const auto got = frequencies(R"({"type": "dynamic", "factor": 4.0})", 10000, 4096).value();
  EXPECT_THAT(got.frequency, are(plain_numbers()));
  EXPECT_EQ(got.long_from, 4096);
}

// transformers' numbers for 16384 tokens.
TEST(RotaryFrequenciesTest, StretchWithTheBaseOfTheLongestSequencePastTheContextOfDynamicScaling) {
  const auto got = frequencies(R"({"type": "dynamic", "factor": 4.0})", 10000, 4096).value();
  EXPECT_EQ(got.context, 16384);
  EXPECT_EQ(got.long_magnitude, 1);
  EXPECT_THAT(got.long_frequency,
              are({1.0F, 0.219212472F, 0.0480541028F, 0.0105340583F, 0.00230919686F,
                   0.000506204728F, 0.000110966386F, 2.43252125e-05F}));
}

TEST(RotaryFrequenciesTest, HaveOneSetWhenTheDynamicFactorAddsNothing) {
  const auto got = frequencies(R"({"type": "dynamic", "factor": 1.0})").value();
  EXPECT_THAT(got.long_frequency, IsEmpty());
  EXPECT_EQ(got.context, 0);
}

// transformers' numbers for Hunyuan.
TEST(RotaryFrequenciesTest, StretchAtAnyLengthWithAnAlpha) {
  const auto got = frequencies(R"({"type": "dynamic", "alpha": 1000.0, "factor": 1.0})").value();
  EXPECT_THAT(got.frequency,
              are({1.0F, 0.117876865F, 0.0138949547F, 0.00163789373F, 0.000193069776F,
                   2.27584587e-05F, 2.68269582e-06F, 3.16227755e-07F}));
  EXPECT_THAT(got.long_frequency, IsEmpty());
}

TEST(RotaryFrequenciesTest, RefuseDynamicScalingThatShrinksOrHasNothingToStretch) {
  for (const char* wrong : {R"({"type": "dynamic", "factor": 0.5})",
                            R"({"type": "dynamic", "factor": 2.0, "alpha": -1.0})"}) {
    EXPECT_THAT(frequencies(wrong), FailsWith(ModelErrc::kBadConfig, "dynamic needs")) << wrong;
  }
  EXPECT_THAT(frequencies(R"({"type": "dynamic", "factor": 1e300})"),
              FailsWith(ModelErrc::kBadConfig, "more than 2^30 positions"));
  const auto parameters = boost::json::parse(R"({"type": "dynamic", "factor": 2.0})");
  EXPECT_THAT(rotary_frequencies(2, 10000, parameters, 4096, 4096),
              FailsWith(ModelErrc::kBadConfig, "more than two rotary dimensions"));
}

TEST(RotaryFrequenciesTest, AreBentByWavelengthAsLlama3Does) {
  const auto got = frequencies(R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})",
                               500000);
  EXPECT_THAT(got.value().frequency,
              are({1.0F, 0.193922758F, 0.0376060307F, 0.00729266508F, 0.000524846022F,
                   3.42810235e-05F, 6.64786967e-06F, 1.28917316e-06F}));
}

TEST(RotaryFrequenciesTest, AreBentByTurnsAsYarnDoes) {
  const auto got = frequencies(R"({"rope_type": "yarn", "factor": 4.0,
      "original_max_position_embeddings": 4096})");
  EXPECT_THAT(got.value().frequency,
              are({1.0F, 0.316227764F, 0.100000001F, 0.025693506F, 0.00624999963F, 0.00138349656F,
                   0.000250000012F, 7.90569466e-05F}));
  EXPECT_FLOAT_EQ(got.value().magnitude, 1.13862944F);
}

TEST(RotaryFrequenciesTest, TakeYarnsOwnTurnsAndMagnitudes) {
  const auto got = frequencies(R"({"rope_type": "yarn", "factor": 4.0, "mscale": 0.707,
      "mscale_all_dim": 1.0, "beta_fast": 16, "beta_slow": 2,
      "original_max_position_embeddings": 4096})");
  EXPECT_THAT(got.value().frequency,
              are({1.0F, 0.316227764F, 0.100000001F, 0.0316227786F, 0.00749999937F, 0.00158113893F,
                   0.000250000012F, 7.90569466e-05F}));
  EXPECT_FLOAT_EQ(got.value().magnitude, 0.964326915F);
}

TEST(RotaryFrequenciesTest, DoNotRoundYarnsTurnsWhenToldSo) {
  const auto got = frequencies(R"({"rope_type": "yarn", "factor": 32.0, "truncate": false,
      "original_max_position_embeddings": 4096})",
                               150000);
  EXPECT_THAT(got.value().frequency,
              are({1.0F, 0.225418001F, 0.0508132726F, 0.00679495931F, 0.000456483918F,
                   1.8188337e-05F, 4.09997847e-06F, 9.24208962e-07F}));
  EXPECT_FLOAT_EQ(got.value().magnitude, 1.34657359F);
}

TEST(RotaryFrequenciesTest, ComeInTwoSetsForLongRope) {
  const auto got = frequencies(R"({"rope_type": "longrope",
      "short_factor": [1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 2.5],
      "long_factor": [1.0, 1.2, 1.5, 2, 4, 8, 16, 32]})");
  ASSERT_TRUE(got);
  EXPECT_THAT(got->frequency, are({1.0F, 0.301169306F, 0.0909090936F, 0.0263523124F, 0.0076923077F,
                                   0.00210818532F, 0.000500000024F, 0.000126491112F}));
  EXPECT_THAT(got->long_frequency,
              are({1.0F, 0.263523132F, 0.0666666701F, 0.0158113893F, 0.00249999994F,
                   0.000395284733F, 6.2500003e-05F, 9.88211832e-06F}));
  EXPECT_FLOAT_EQ(got->magnitude, 1.19023807F);
  EXPECT_FLOAT_EQ(got->long_magnitude, 1.19023807F);
  EXPECT_EQ(got->long_from, 4096);
}

TEST(RotaryFrequenciesTest, AreRefusedWhenTheScalingIsNotSound) {
  for (const char* wrong :
       {"4", R"("linear")", R"({"type": "magic"})", R"({"type": "linear"})",
        R"({"type": "linear", "factor": 0})", R"({"type": "linear", "factor": -2})",
        R"({"type": "linear", "factor": "4"})", R"({"rope_type": "llama3"})",
        R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4,
            "original_max_position_embeddings": 8192})",
        R"({"rope_type": "yarn", "factor": 0.5})",
        R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 0})",
        R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [1]})",
        R"({"rope_type": "longrope", "short_factor": [1,1,1,1,1,1,1,0],
            "long_factor": [1,1,1,1,1,1,1,1]})"}) {
    EXPECT_THAT(frequencies(wrong), FailsWith(ModelErrc::kBadConfig, "rope scaling")) << wrong;
  }
}

}  // namespace
}  // namespace weft
