#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "weft/sampling/sampling_error.h"
#include "weft/sampling/sampling_params.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;

constexpr std::size_t kVocabulary = 100;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A parameter that is a single number.
struct FloatField {
  std::string name;
  std::function<float&(SamplingParams&)> field;
  std::vector<float> good;
  std::vector<float> bad;
};

std::vector<FloatField> float_fields() {
  using P = SamplingParams;
  return {
      {"penalties.repetition",
       [](P& p) -> float& { return p.penalties.repetition; },
       {0.01F, 100},
       {0, -1, 101}},
      {"penalties.frequency",
       [](P& p) -> float& { return p.penalties.frequency; },
       {-2, 2},
       {-2.1F, 2.1F}},
      {"penalties.presence",
       [](P& p) -> float& { return p.penalties.presence; },
       {-2, 2},
       {-2.1F, 2.1F}},
      {"dry.multiplier", [](P& p) -> float& { return p.dry.multiplier; }, {0, 100}, {-0.1F, 101}},
      {"dry.base", [](P& p) -> float& { return p.dry.base; }, {1, 100}, {0.9F, 101}},
      {"fsd.alpha", [](P& p) -> float& { return p.fsd.alpha; }, {0, 1}, {-0.1F, 1.1F}},
      {"temperature",
       [](P& p) -> float& { return p.temperature; },
       {0, 1e-30F, 100},
       {-0.1F, 999999}},
      {"dynamic_temperature.range",
       [](P& p) -> float& { return p.dynamic_temperature.range; },
       {0, 100},
       {-0.1F, 101}},
      {"dynamic_temperature.exponent",
       [](P& p) -> float& { return p.dynamic_temperature.exponent; },
       {0, 100},
       {-0.1F, 101}},
      {"tfs_z", [](P& p) -> float& { return p.tfs_z; }, {0.01F, 1}, {0, -1, 1.01F}},
      {"typical_p", [](P& p) -> float& { return p.typical_p; }, {0.01F, 1}, {0, -1, 1.01F}},
      {"top_p", [](P& p) -> float& { return p.top_p; }, {0, 1}, {-1, 1.01F}},
      {"min_p", [](P& p) -> float& { return p.min_p; }, {0, 1}, {-0.1F, 1.01F}},
      {"xtc.probability", [](P& p) -> float& { return p.xtc.probability; }, {0, 1}, {-0.1F, 1.01F}},
      {"xtc.threshold", [](P& p) -> float& { return p.xtc.threshold; }, {0, 1}, {-0.1F, 1.01F}},
      {"mirostat.tau", [](P& p) -> float& { return p.mirostat.tau; }, {0, 100}, {-0.1F, 101}},
      {"mirostat.eta", [](P& p) -> float& { return p.mirostat.eta; }, {0, 1}, {-0.1F, 1.1F}},
      {"beams.length_penalty",
       [](P& p) -> float& { return p.beams.length_penalty; },
       {-10, 10},
       {-11, 11}},
  };
}

struct CountField {
  std::string name;
  std::function<std::int32_t&(SamplingParams&)> field;
  std::vector<std::int32_t> good;
  std::vector<std::int32_t> bad;
};

std::vector<CountField> count_fields() {
  using P = SamplingParams;
  using Count = std::int32_t;
  constexpr Count kMost = std::numeric_limits<Count>::max();
  constexpr Count kLeast = std::numeric_limits<Count>::min();
  return {
      {"min_tokens", [](P& p) -> Count& { return p.min_tokens; }, {0, kMost}, {-1, kLeast}},
      {"penalties.window",
       [](P& p) -> Count& { return p.penalties.window; },
       {0, kMost},
       {-1, kLeast}},
      {"dry.allowed_length",
       [](P& p) -> Count& { return p.dry.allowed_length; },
       {1, 50},
       {0, -1, 51}},
      {"dry.window", [](P& p) -> Count& { return p.dry.window; }, {0, kMost}, {-1}},
      {"fsd.top_k", [](P& p) -> Count& { return p.fsd.top_k; }, {1, 32}, {0, -1, 33}},
      {"fsd.max_ngram", [](P& p) -> Count& { return p.fsd.max_ngram; }, {1, 8}, {0, 9}},
      {"fsd.random_steps", [](P& p) -> Count& { return p.fsd.random_steps; }, {0, kMost}, {-1}},
      {"top_k", [](P& p) -> Count& { return p.top_k; }, {0, kMost}, {-1}},
      {"mirostat.version", [](P& p) -> Count& { return p.mirostat.version; }, {0, 1, 2}, {-1, 3}},
      {"n", [](P& p) -> Count& { return p.n; }, {1, 16}, {0, -1, 17, 1000000000}},
      {"best_of", [](P& p) -> Count& { return p.best_of; }, {0, 1, 16}, {-1, 17, 1000000000}},
      {"beams.num_beams", [](P& p) -> Count& { return p.beams.num_beams; }, {1, 16}, {0, -1, 17}},
      {"top_logprobs", [](P& p) -> Count& { return p.top_logprobs; }, {0, 20}, {-1, 21}},
  };
}

/// Each field's good values pass, and each bad one is refused by the field's name.
template <class Field>
void expect_ranges(const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    for (const auto value : field.good) {
      SamplingParams params;
      field.field(params) = value;
      const auto checked = validate(params, kVocabulary);
      EXPECT_TRUE(checked.has_value())
          << field.name << " " << value << ": " << to_string(checked.error());
    }
    for (const auto value : field.bad) {
      SamplingParams params;
      field.field(params) = value;
      EXPECT_THAT(validate(params, kVocabulary),
                  FailsWith(SamplingErrc::kParameterOutOfRange, field.name + ": "))
          << value;
    }
  }
}

TEST(ValidateTest, DefaultsAreValid) {
  EXPECT_TRUE(validate({}, kVocabulary).has_value());
  EXPECT_TRUE(validate({}, 1).has_value());
}

TEST(ValidateTest, EveryNumberHasARangeThatItsNameGoesWith) {
  auto floats = float_fields();
  for (FloatField& field : floats) {
    for (const float value : {kNaN, kInfinity, -kInfinity}) field.bad.push_back(value);
  }
  expect_ranges(floats);
  expect_ranges(count_fields());
}

TEST(ValidateTest, TheDetailHasValueAndRange) {
  EXPECT_EQ(validate({.temperature = 999999}, kVocabulary).error().detail,
            "temperature: 999999 is not in 0 .. 100");
  EXPECT_EQ(validate({.typical_p = -0.5F}, kVocabulary).error().detail,
            "typical_p: -0.5 is not above 0 and at most 1");
  EXPECT_EQ(validate({.n = 1000000000}, kVocabulary).error().detail,
            "n: 1000000000 is not in 1 .. 16");
  EXPECT_EQ(validate({.top_p = kNaN}, kVocabulary).error().detail, "top_p: nan is not in 0 .. 1");
}

struct ListField {
  std::string name;
  std::function<std::vector<TokenId>&(SamplingParams&)> field;
  std::size_t most;
};

TEST(ValidateTest, ListsNameTokensOfTheVocabularyAndAreBounded) {
  using P = SamplingParams;
  using List = std::vector<TokenId>;
  for (const ListField& field :
       {ListField{"bad_tokens", [](P& p) -> List& { return p.bad_tokens; }, 1024},
        ListField{"allowed_tokens", [](P& p) -> List& { return p.allowed_tokens; }, 1024},
        ListField{"stop_tokens", [](P& p) -> List& { return p.stop_tokens; }, 128},
        ListField{"dry.breakers", [](P& p) -> List& { return p.dry.breakers; }, 128}}) {
    SamplingParams params;
    field.field(params).assign(field.most, 99);
    EXPECT_TRUE(validate(params, kVocabulary).has_value()) << field.name;
    field.field(params).push_back(0);
    EXPECT_THAT(validate(params, kVocabulary), FailsWith(SamplingErrc::kListTooLong, field.name));
    for (const TokenId token : {-1, 100, 2147483647}) {
      field.field(params) = {5, token};
      EXPECT_THAT(validate(params, kVocabulary),
                  FailsWith(SamplingErrc::kTokenNotInVocabulary,
                            field.name + ": " + std::to_string(token) + " is not in 0 .. 99"));
    }
  }
}

TEST(ValidateTest, BiasesAreBoundedAsLogitsGo) {
  SamplingParams params;
  params.logit_bias.assign(1024, {.token = 99, .bias = -100});
  EXPECT_TRUE(validate(params, kVocabulary).has_value());
  params.logit_bias.push_back({.token = 0, .bias = 0});
  EXPECT_THAT(validate(params, kVocabulary), FailsWith(SamplingErrc::kListTooLong, "logit_bias"));
  params.logit_bias = {{100, 1}};
  EXPECT_THAT(validate(params, kVocabulary),
              FailsWith(SamplingErrc::kTokenNotInVocabulary, "logit_bias: 100"));
  for (const float bias : {kNaN, kInfinity, -kInfinity, 100.5F}) {
    params.logit_bias = {{7, bias}};
    EXPECT_THAT(validate(params, kVocabulary),
                FailsWith(SamplingErrc::kParameterOutOfRange, "logit_bias of token 7"));
  }
}

TEST(ValidateTest, WhatDoesNotGoTogetherIsRefused) {
  const auto conflicts = [](const SamplingParams& params, std::string_view names) {
    EXPECT_THAT(validate(params, kVocabulary),
                FailsWith(SamplingErrc::kParametersConflict, std::string(names)));
  };
  const BeamParams beams{.num_beams = 4};
  conflicts({.n = 3, .best_of = 2}, "best_of with a greater n");
  conflicts({.fsd = {.alpha = 0.5F}, .mirostat = {.version = 2}}, "fsd with mirostat");
  conflicts({.n = 5, .beams = beams}, "n with fewer beams.num_beams");
  conflicts({.best_of = 2, .beams = beams}, "best_of with beams");
  conflicts({.beams = beams, .top_logprobs = 2}, "top_logprobs with beams");
  conflicts({.temperature = 0.7F, .beams = beams}, "temperature with beams");
  conflicts({.dynamic_temperature = {.range = 1}, .beams = beams},
            "dynamic_temperature with beams");
  conflicts({.fsd = {.alpha = 0.5F}, .beams = beams}, "fsd with beams");
  conflicts({.top_k = 5, .beams = beams}, "top_k with beams");
  conflicts({.tfs_z = 0.5F, .beams = beams}, "tfs_z with beams");
  conflicts({.typical_p = 0.5F, .beams = beams}, "typical_p with beams");
  conflicts({.top_p = 0.5F, .beams = beams}, "top_p with beams");
  conflicts({.min_p = 0.5F, .beams = beams}, "min_p with beams");
  conflicts({.xtc = {.probability = 0.5F}, .beams = beams}, "xtc with beams");
  conflicts({.mirostat = {.version = 1}, .beams = beams}, "mirostat with beams");
  constexpr auto kLossy = GuessAcceptance::kLossyTop;
  conflicts({.guess_acceptance = kLossy, .beams = beams}, "guess_acceptance with beams");
  conflicts({.fsd = {.alpha = 0.5F}, .top_k = 5, .guess_acceptance = kLossy},
            "guess_acceptance with fsd");
  conflicts({.temperature = 0, .top_k = 5, .guess_acceptance = kLossy},
            "guess_acceptance with temperature 0");
  conflicts({.guess_acceptance = kLossy}, "guess_acceptance with no top_k");
  EXPECT_TRUE(validate({.top_p = 0.9F, .guess_acceptance = kLossy}, kVocabulary).has_value());
  EXPECT_TRUE(validate({.mirostat = {.version = 2}, .guess_acceptance = kLossy}, kVocabulary));
  EXPECT_TRUE(validate({.temperature = 0, .n = 4, .beams = beams}, kVocabulary).has_value());
  EXPECT_TRUE(validate({.n = 3, .best_of = 3}, kVocabulary).has_value());
}

TEST(ValidateTest, ListsThatLeaveNoTokenAreRefusedByName) {
  const std::vector<TokenId> ends = {0, 9};
  const auto refusal = [&](const SamplingParams& params) {
    const auto valid = validate(params, kVocabulary, ends);
    return valid ? "none" : valid.error().detail;
  };
  std::vector<TokenId> all;
  for (TokenId token = 0; token < static_cast<TokenId>(kVocabulary); ++token) all.push_back(token);
  EXPECT_EQ(refusal({.bad_tokens = {5}, .allowed_tokens = {5}}),
            "allowed_tokens: no token is left to choose with bad_tokens");
  EXPECT_EQ(refusal({.bad_tokens = {5}, .allowed_tokens = {5, 6}}), "none");
  EXPECT_EQ(refusal({.allowed_tokens = {0}, .min_tokens = 3}),
            "allowed_tokens: no token is left to choose before min_tokens");
  EXPECT_EQ(refusal({.allowed_tokens = {0}}), "none");
  EXPECT_EQ(refusal({.allowed_tokens = {0}, .min_tokens = 3, .ignore_eos = true}), "none");
  EXPECT_EQ(refusal({.allowed_tokens = {7}, .min_tokens = 1, .stop_tokens = {7}}),
            "allowed_tokens: no token is left to choose before min_tokens");
  EXPECT_EQ(refusal({.bad_tokens = {5}, .allowed_tokens = {5, 9}, .min_tokens = 1}),
            "allowed_tokens: no token is left to choose with bad_tokens before min_tokens");
  EXPECT_EQ(refusal({.bad_tokens = all}), "bad_tokens: no token is left to choose");
  all.pop_back();
  EXPECT_EQ(refusal({.bad_tokens = all}), "none");
}

TEST(ValidateTest, AnEarlyStoppingThatThereIsNotIsRefused) {
  SamplingParams params;
  params.beams.early_stopping = static_cast<EarlyStopping>(77);
  EXPECT_THAT(validate(params, kVocabulary),
              FailsWith(SamplingErrc::kParameterOutOfRange, "beams.early_stopping: 77"));
}

TEST(ValidateTest, AGuessAcceptanceThatThereIsNotIsRefused) {
  EXPECT_THAT(validate({.guess_acceptance = static_cast<GuessAcceptance>(2)}, kVocabulary),
              FailsWith(SamplingErrc::kParameterOutOfRange, "guess_acceptance: 2"));
}

TEST(ValidateTest, EveryErrorHasAName) {
  EXPECT_EQ(sampling_category().table().size(), 4U);
  EXPECT_EQ(sampling_category().name_of(static_cast<int>(SamplingErrc::kListTooLong)),
            "list_too_long");
}

}  // namespace
}  // namespace weft
