#include "weft/net/api/fields/sampling_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "weft/sampling/defaults.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class SamplingFieldsTest : public ApiFixture {
 public:
  ApiResult<SamplingParams> decode(const std::string& text) {
    BodyFields fields(body(text));
    SamplingParams params = take_sampling(fields, model->tokenizer);
    if (!fields.error()) {
      if (auto error = check_sampling(params, kTinyVocabulary)) fields.fail(*std::move(error));
    }
    if (auto error = fields.finish()) return *std::move(error);
    return params;
  }
  SamplingParams taken(const std::string& text) {
    const auto params = decode(text);
    EXPECT_TRUE(params) << text << ": " << (params ? "" : params.error().message);
    return params ? *params : SamplingParams();
  }
  std::string refusal(const std::string& text) { return verdict(decode(text)); }
  std::string message(const std::string& text) {
    const auto params = decode(text);
    return params ? "none" : params.error().message;
  }
  json::object echo(const std::string& text) {
    json::object out;
    echo_sampling(taken(text), out);
    return out;
  }
};

TEST_F(SamplingFieldsTest, TakeWhatTheModelsMakersSayWhereTheRequestDoesNot) {
  SamplingParams defaults;
  defaults.temperature = 0.6F;
  defaults.top_k = 20;
  defaults.penalties.repetition = 1.05F;
  const auto take = [&](const std::string& text) {
    BodyFields fields(body(text));
    SamplingParams params = take_sampling(fields, model->tokenizer, defaults);
    EXPECT_FALSE(fields.finish());
    EXPECT_FALSE(check_sampling(params, kTinyVocabulary)) << text;
    return params;
  };
  EXPECT_EQ(take("{}").temperature, 0.6F);
  EXPECT_EQ(take("{}").penalties.repetition, 1.05F);
  const SamplingParams own = take(R"({"temperature": 0, "top_k": 3})");
  EXPECT_EQ(own.temperature, 0);
  EXPECT_EQ(own.top_k, 3);
  EXPECT_EQ(take(R"({"num_beams": 2})").top_k, 0) << "a beam search draws nothing";
}

/// Every field except those of beams, at a value that is not its default.
constexpr const char* kAll = R"({
  "temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "typical_p": 0.95, "tfs_z": 0.5,
  "frequency_penalty": -1.5, "presence_penalty": 0.5, "repetition_penalty": 1.1,
  "repetition_window": 64, "dry_multiplier": 0.8, "dry_base": 1.5, "dry_allowed_length": 3,
  "dry_window": 100, "dry_sequence_breakers": ["\n", 5], "mirostat_mode": 2, "mirostat_tau": 4,
  "mirostat_eta": 0.2, "xtc_probability": 0.5, "xtc_threshold": 0.2, "dynatemp_range": 0.3,
  "dynatemp_exponent": 2, "fsd_top_k": 5, "fsd_max_ngram": 2, "fsd_randomized": true,
  "fsd_random_steps": 8, "num_beams": 1, "use_beam_search": false, "length_penalty": 2,
  "early_stopping": "never", "n": 2, "best_of": 3, "seed": -1, "min_tokens": 4,
  "ignore_eos": true, "stop_token_ids": [7, 8], "bad_token_ids": [9], "bad_words": ["ab"],
  "allowed_token_ids": [10, 11], "logit_bias": {"12": -100, "13": 1.5}, "fsd_alpha": 0})";

TEST_F(SamplingFieldsTest, EveryFieldReachesItsMember) {
  const SamplingParams params = taken(kAll);
  EXPECT_EQ(params.temperature, 0.7F);
  EXPECT_EQ(params.top_p, 0.9F);
  EXPECT_EQ(params.top_k, 40);
  EXPECT_EQ(params.min_p, 0.05F);
  EXPECT_EQ(params.typical_p, 0.95F);
  EXPECT_EQ(params.tfs_z, 0.5F);
  EXPECT_EQ(params.penalties.frequency, -1.5F);
  EXPECT_EQ(params.penalties.presence, 0.5F);
  EXPECT_EQ(params.penalties.repetition, 1.1F);
  EXPECT_EQ(params.penalties.window, 64);
  EXPECT_EQ(params.dry.multiplier, 0.8F);
  EXPECT_EQ(params.dry.base, 1.5F);
  EXPECT_EQ(params.dry.allowed_length, 3);
  EXPECT_EQ(params.dry.window, 100);
  EXPECT_EQ(params.dry.breakers, (std::vector<TokenId>{kByteTokens + '\n', 5}));
  EXPECT_EQ(params.mirostat.version, 2);
  EXPECT_EQ(params.mirostat.tau, 4);
  EXPECT_EQ(params.mirostat.eta, 0.2F);
  EXPECT_EQ(params.xtc.probability, 0.5F);
  EXPECT_EQ(params.xtc.threshold, 0.2F);
  EXPECT_EQ(params.dynamic_temperature.range, 0.3F);
  EXPECT_EQ(params.dynamic_temperature.exponent, 2);
}

TEST_F(SamplingFieldsTest, EveryOtherFieldReachesItsMember) {
  const SamplingParams params = taken(kAll);
  EXPECT_EQ(params.fsd.top_k, 5);
  EXPECT_EQ(params.fsd.max_ngram, 2);
  EXPECT_TRUE(params.fsd.randomized);
  EXPECT_EQ(params.fsd.random_steps, 8);
  EXPECT_EQ(taken(R"({"fsd_alpha": 0.5})").fsd.alpha, 0.5F);
  EXPECT_EQ(params.beams.length_penalty, 2);
  EXPECT_EQ(params.beams.early_stopping, EarlyStopping::kNever);
  EXPECT_EQ(params.n, 2);
  EXPECT_EQ(params.best_of, 3);
  EXPECT_EQ(params.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(params.min_tokens, 4);
  EXPECT_TRUE(params.ignore_eos);
  EXPECT_EQ(params.stop_tokens, (std::vector<TokenId>{7, 8}));
  EXPECT_EQ(params.bad_tokens, (std::vector<TokenId>{9, kAbToken}));
  EXPECT_EQ(params.allowed_tokens, (std::vector<TokenId>{10, 11}));
  ASSERT_EQ(params.logit_bias.size(), 2U);
  EXPECT_EQ(params.logit_bias[0].token, 12);
  EXPECT_EQ(params.logit_bias[0].bias, -100);
  EXPECT_EQ(params.logit_bias[1].bias, 1.5F);
}

TEST_F(SamplingFieldsTest, TheTestNamesEveryFieldOfTheTable) {
  std::set<std::string_view> names(sampling_field_names().begin(), sampling_field_names().end());
  EXPECT_EQ(names.size(), sampling_field_names().size()) << "a name stands twice";
  const json::value all = json::parse(kAll);
  for (const auto& field : all.as_object()) {
    EXPECT_EQ(names.erase(field.key()), 1U) << field.key();
  }
  EXPECT_TRUE(names.empty()) << *names.begin();
}

TEST_F(SamplingFieldsTest, WithoutFieldsTheDefaultsHold) {
  json::object defaults;
  echo_sampling(SamplingParams(), defaults);
  EXPECT_EQ(echo("{}"), defaults);
  EXPECT_EQ(json::serialize(defaults.at("seed")), "null");
  EXPECT_EQ(defaults.at("temperature"), 1.0);
  EXPECT_EQ(defaults.at("early_stopping"), false);
}

TEST_F(SamplingFieldsTest, AnEchoIsAsWrittenAndMeansTheSameWhenSentAgain) {
  const json::object once = echo(kAll);
  EXPECT_EQ(once.at("temperature"), 0.7) << "not 0.699999988";
  EXPECT_EQ(once.at("seed"), -1);
  EXPECT_EQ(once.at("logit_bias"), json::parse(R"({"12":-1E2,"13":1.5E0})"));
  EXPECT_EQ(once.at("bad_token_ids"), (json::array{9, kAbToken}));
  EXPECT_EQ(echo(json::serialize(once)), once);
  for (const std::string_view name : sampling_field_names()) {
    EXPECT_EQ(once.contains(name), name != "bad_words") << name;
  }
  const json::object beams = echo(R"({"use_beam_search": true, "best_of": 4})");
  EXPECT_EQ(echo(json::serialize(beams)), beams);
}

TEST_F(SamplingFieldsTest, ATokenHasOneNameAmongBiases) {
  const SamplingParams params = taken(R"({"logit_bias": {"5": 60, "6": 0.1}})");
  json::object out;
  echo_sampling(params, out);
  EXPECT_EQ(out.at("logit_bias"), (json::object{{"5", 60.0}, {"6", 0.1}}));
  for (const char* name : {"05", "-0", "5.0", "+5", " 5"}) {
    EXPECT_EQ(refusal(R"({"logit_bias": {")" + std::string(name) + R"(": 1}})"),
              "logit_bias invalid_value")
        << name;
  }
}

TEST_F(SamplingFieldsTest, WhatIsOutOfRangeIsRefusedByItsNameInTheApi) {
  for (const auto& [text, param] : std::vector<std::pair<std::string, std::string>>{
           {R"({"temperature": 999999})", "temperature"},
           {R"({"temperature": -0.1})", "temperature"},
           {R"({"top_p": -1})", "top_p"},
           {R"({"top_p": 1.1})", "top_p"},
           {R"({"repetition_penalty": 0})", "repetition_penalty"},
           {R"({"frequency_penalty": 2.1})", "frequency_penalty"},
           {R"({"presence_penalty": -3})", "presence_penalty"},
           {R"({"repetition_window": -1})", "repetition_window"},
           {R"({"tfs_z": 0})", "tfs_z"},
           {R"({"typical_p": 0})", "typical_p"},
           {R"({"top_k": -2})", "top_k"},
           {R"({"min_p": 2})", "min_p"},
           {R"({"dry_base": 0.5})", "dry_base"},
           {R"({"dry_allowed_length": 0})", "dry_allowed_length"},
           {R"({"mirostat_mode": 3})", "mirostat_mode"},
           {R"({"mirostat_tau": -1})", "mirostat_tau"},
           {R"({"xtc_probability": 1.5})", "xtc_probability"},
           {R"({"dynatemp_range": -1})", "dynatemp_range"},
           {R"({"fsd_alpha": 2})", "fsd_alpha"},
           {R"({"fsd_top_k": 0})", "fsd_top_k"},
           {R"({"num_beams": 17})", "num_beams"},
           {R"({"length_penalty": 11})", "length_penalty"},
           {R"({"n": 1000000000})", "n"},
           {R"({"n": 0})", "n"},
           {R"({"n": -1})", "n"},
           {R"({"n": 17})", "n"},
           {R"({"best_of": 17})", "best_of"},
           {R"({"n": 3, "best_of": 2})", "best_of"},
           {R"({"min_tokens": -1})", "min_tokens"},
           {R"({"n": 99999999999})", "n"},
           {R"({"temperature": 1e300})", "temperature"},
           {R"({"stop_token_ids": [288]})", "stop_token_ids"},
           {R"({"bad_token_ids": [-1]})", "bad_token_ids"},
           {R"({"allowed_token_ids": [1000]})", "allowed_token_ids"},
           {R"({"dry_sequence_breakers": [288]})", "dry_sequence_breakers"},
           {R"({"logit_bias": {"288": 1}})", "logit_bias"},
           {R"({"logit_bias": {"-1": 1}})", "logit_bias"},
           {R"({"logit_bias": {"1": 101}})", "logit_bias"},
           {R"({"logit_bias": {"1": 1e300}})", "logit_bias"},
           {R"({"logit_bias": {"1.5": 1}})", "logit_bias"},
           {R"({"logit_bias": {"a": 1}})", "logit_bias"},
           {R"({"logit_bias": {"": 1}})", "logit_bias"},
           {R"({"logit_bias": {"99999999999": 1}})", "logit_bias"},
           {R"({"fsd_alpha": 0.5, "mirostat_mode": 1})", "fsd_alpha"},
           {R"({"num_beams": 2, "top_p": 0.5})", "top_p"},
           {R"({"num_beams": 2, "xtc_probability": 0.5})", "xtc_probability"},
           {R"({"num_beams": 2, "mirostat_mode": 1})", "mirostat_mode"},
           {R"({"num_beams": 2, "dynatemp_range": 1})", "dynatemp_range"},
       }) {
    EXPECT_EQ(refusal(text), param + " invalid_value") << text;
  }
}

TEST_F(SamplingFieldsTest, OtherTypesAreRefusedByName) {
  for (const std::string_view name : sampling_field_names()) {
    const std::string text = "{\"" + std::string(name) + "\": {\"a\": {}}}";
    EXPECT_THAT(refusal(text), testing::StartsWith(std::string(name) + " invalid_")) << text;
  }
  EXPECT_EQ(refusal(R"({"temperature": "1"})"), "temperature invalid_type");
  EXPECT_EQ(refusal(R"({"top_k": 1.5})"), "top_k invalid_type");
  EXPECT_EQ(refusal(R"({"stop_token_ids": ["a"]})"), "stop_token_ids[0] invalid_type");
  EXPECT_EQ(refusal(R"({"stop_token_ids": [1, 99999999999]})"), "stop_token_ids[1] invalid_type");
  EXPECT_EQ(refusal(R"({"bad_words": [null]})"), "bad_words[0] invalid_type");
  EXPECT_EQ(refusal(R"({"logit_bias": {"1": null}})"), "logit_bias invalid_type");
  EXPECT_EQ(refusal(R"({"logit_bias": [1]})"), "logit_bias invalid_type");
  EXPECT_EQ(refusal(R"({"early_stopping": "always"})"), "early_stopping invalid_type");
}

TEST_F(SamplingFieldsTest, MessagesSpeakOfTheNamesThatWereSent) {
  EXPECT_THAT(message(R"({"frequency_penalty": 3})"),
              testing::StartsWith("frequency_penalty: 3 is not in -2 .. 2"));
  EXPECT_THAT(message(R"({"num_beams": 2, "top_p": 0.5})"),
              testing::StartsWith("top_p with num_beams"));
  EXPECT_THAT(message(R"({"logit_bias": {"288": 1}})"),
              testing::StartsWith("logit_bias: 288 is not in 0 .. 287"));
  EXPECT_THAT(message(R"({"stop_token_ids": [288]})"),
              testing::StartsWith("stop_token_ids: 288 is not in 0 .. 287"));
}

TEST_F(SamplingFieldsTest, ListsAreBounded) {
  const auto list = [](std::size_t count, const std::string& entry) {
    std::string text = "[" + entry;
    for (std::size_t i = 1; i < count; ++i) text += "," + entry;
    return text + "]";
  };
  EXPECT_EQ(refusal(R"({"bad_token_ids":)" + list(1024, "5") + "}"), "200");
  EXPECT_EQ(refusal(R"({"bad_token_ids":)" + list(1025, "5") + "}"), "bad_token_ids invalid_value");
  EXPECT_EQ(refusal(R"({"stop_token_ids":)" + list(128, "5") + "}"), "200");
  EXPECT_EQ(refusal(R"({"stop_token_ids":)" + list(129, "5") + "}"),
            "stop_token_ids invalid_value");
  EXPECT_EQ(refusal(R"({"bad_words":)" + list(128, "\"ab\"") + "}"), "200");
  EXPECT_EQ(refusal(R"({"bad_words":)" + list(129, "\"ab\"") + "}"), "bad_words invalid_value");
  EXPECT_EQ(refusal(R"({"dry_sequence_breakers":)" + list(129, "5") + "}"),
            "dry_sequence_breakers invalid_value");
  std::string biases = R"({"logit_bias":{"0":1)";
  for (int i = 1; i < 2000; ++i) biases += ",\"" + std::to_string(i) + "\":1";
  EXPECT_EQ(refusal(biases + "}}"), "logit_bias invalid_value");
}

TEST_F(SamplingFieldsTest, TopKOfMinusOneIsOff) {
  EXPECT_EQ(taken(R"({"top_k": -1})").top_k, 0);
  EXPECT_EQ(taken(R"({"top_k": 0})").top_k, 0);
}

TEST_F(SamplingFieldsTest, SeedsHaveAllOfSixtyFourBits) {
  EXPECT_EQ(taken(R"({"seed": 9223372036854775807})").seed, 9223372036854775807U);
  EXPECT_EQ(taken(R"({"seed": -9223372036854775808})").seed, 9223372036854775808U);
  EXPECT_EQ(taken(R"({"seed": 0})").seed, 0U);
  EXPECT_EQ(refusal(R"({"seed": 9223372036854775808})"), "seed invalid_value");
}

TEST_F(SamplingFieldsTest, AWordIsATokenAtTheBeginningOrBehindText) {
  // With the space that begins every text "ab" is two tokens; behind other text it is one.
  EXPECT_EQ(taken(R"({"bad_words": ["ab"]})").bad_tokens, (std::vector<TokenId>{kAbToken}));
  EXPECT_EQ(taken(R"({"bad_words": ["a"]})").bad_tokens, (std::vector<TokenId>{kSpaceAToken}));
  EXPECT_EQ(taken(R"({"dry_sequence_breakers": ["\n", ":"]})").dry.breakers,
            (std::vector<TokenId>{kByteTokens + '\n', kByteTokens + ':'}));
  EXPECT_EQ(refusal(R"({"bad_words": ["ab", "abc"]})"), "bad_words[1] invalid_value");
  EXPECT_THAT(message(R"({"bad_words": ["abc"]})"), testing::HasSubstr("\"abc\" is "));
  EXPECT_EQ(refusal(R"({"bad_words": [""]})"), "bad_words[0] invalid_value");
  EXPECT_EQ(refusal(R"({"dry_sequence_breakers": ["</s>"]})"),
            "dry_sequence_breakers[0] invalid_value")
      << "a client's text is no special token";
  EXPECT_EQ(refusal(R"({"bad_words": [")" + std::string(257, 'a') + R"("]})"),
            "bad_words[0] invalid_value");
}

TEST_F(SamplingFieldsTest, BeamsHaveTheNamesOfBothHouses) {
  EXPECT_EQ(taken(R"({"num_beams": 4})").beams.num_beams, 4);
  const SamplingParams best = taken(R"({"use_beam_search": true, "n": 2, "best_of": 4})");
  EXPECT_EQ(best.beams.num_beams, 4);
  EXPECT_EQ(best.best_of, 0);
  EXPECT_EQ(best.n, 2);
  EXPECT_EQ(taken(R"({"use_beam_search": true, "n": 3})").beams.num_beams, 3);
  EXPECT_EQ(taken(R"({"use_beam_search": true, "num_beams": 5})").beams.num_beams, 5);
  EXPECT_EQ(refusal(R"({"use_beam_search": true})"), "use_beam_search invalid_value");
  EXPECT_EQ(refusal(R"({"use_beam_search": false, "num_beams": 2})"),
            "use_beam_search invalid_value");
  EXPECT_EQ(refusal(R"({"use_beam_search": true, "best_of": 99})"), "num_beams invalid_value");
  EXPECT_EQ(taken(R"({"num_beams": 2, "early_stopping": true})").beams.early_stopping,
            EarlyStopping::kYes);
  EXPECT_EQ(taken(R"({"num_beams": 2, "early_stopping": false})").beams.early_stopping,
            EarlyStopping::kNo);
}

}  // namespace
}  // namespace weft::test
