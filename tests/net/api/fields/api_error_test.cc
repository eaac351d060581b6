#include "weft/net/api/fields/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/net/api/fields/field_name.h"
#include "weft/sampling/sampling_error.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

using testing::HasSubstr;

struct Row {
  boost::system::error_code error;
  int status;
  std::string_view type;
  std::string_view code;
};

TEST(ApiErrorTest, EachWayToFailHasItsStatusTypeAndCode) {
  const std::array rows = {
      Row{EngineErrc::kOverloaded, 429, "rate_limit_error", "overloaded"},
      Row{EngineErrc::kBadRequest, 400, "invalid_request_error", "invalid_value"},
      Row{EngineErrc::kContextLengthExceeded, 400, "invalid_request_error",
          "context_length_exceeded"},
      Row{EngineErrc::kNeverFits, 400, "invalid_request_error", "never_fits"},
      Row{EngineErrc::kCancelled, 499, "invalid_request_error", "cancelled"},
      Row{EngineErrc::kDeadlineExceeded, 408, "timeout_error", "deadline_exceeded"},
      Row{EngineErrc::kSlowReader, 408, "timeout_error", "client_too_slow"},
      Row{EngineErrc::kNoTokenLeft, 400, "invalid_request_error", "no_token_left"},
      Row{EngineErrc::kGrammarTooLarge, 400, "invalid_request_error", "grammar_too_large"},
      Row{EngineErrc::kGrammarsFull, 503, "server_error", "grammars_full"},
      Row{EngineErrc::kNotNumbers, 500, "server_error", "model_failed"},
      Row{EngineErrc::kDeviceFailed, 500, "server_error", "device_failed"},
      Row{EngineErrc::kStopping, 503, "server_error", "stopping"},
      Row{EngineErrc::kNotReady, 503, "server_error", "not_ready"},
      Row{EngineErrc::kNoSuchModel, 404, "invalid_request_error", "model_not_found"},
      Row{EngineErrc::kModelNotLoaded, 503, "server_error", "model_not_loaded"},
      Row{EngineErrc::kModelLoading, 503, "server_error", "model_loading"},
      Row{EngineErrc::kModelUnloading, 503, "server_error", "model_unloading"},
      Row{EngineErrc::kModelFailed, 503, "server_error", "model_failed"},
      Row{EngineErrc::kNoSuchAdapter, 404, "invalid_request_error", "model_not_found"},
      Row{EngineErrc::kAdapterFailed, 500, "server_error", "adapter_failed"},
      Row{EngineErrc::kAdapterLoaded, 400, "invalid_request_error", "adapter_loaded"},
      Row{EngineErrc::kProcessorFailed, 500, "server_error", "internal_error"},
      Row{EngineErrc::kReaderFailed, 500, "server_error", "internal_error"},
      Row{EngineErrc::kInternal, 500, "server_error", "internal_error"},
      Row{EngineErrc::kReadOutstanding, 500, "server_error", "internal_error"},
      Row{EngineErrc::kNotFinished, 500, "server_error", "internal_error"},
      Row{EngineErrc::kNoStream, 500, "server_error", "internal_error"},
      Row{SamplingErrc::kTokenNotInVocabulary, 400, "invalid_request_error", "invalid_value"},
      Row{TextErrc::kTextTooLarge, 400, "invalid_request_error", "invalid_value"},
      Row{CoreErrc::kMailboxFull, 429, "rate_limit_error", "overloaded"},
      Row{CoreErrc::kStopped, 503, "server_error", "stopping"},
      Row{CoreErrc::kNotReady, 503, "server_error", "not_ready"},
      Row{CoreErrc::kActorFailed, 500, "server_error", "internal_error"},
      Row{make_error_code(boost::system::errc::operation_canceled), 499, "invalid_request_error",
          "cancelled"},
  };
  for (const Row& row : rows) {
    const ApiError error = api_error_of({row.error, "detail"});
    EXPECT_EQ(error.status, row.status) << row.error.message();
    EXPECT_EQ(error.type, row.type) << row.error.message();
    EXPECT_EQ(error.code, row.code) << row.error.message();
  }
  EXPECT_EQ(engine_category().table().size(), 28U) << "a new error needs a row here";
}

TEST(ApiErrorTest, WhatIsTheServersFaultTellsNothingOfIt) {
  for (const EngineErrc why : {EngineErrc::kInternal, EngineErrc::kDeviceFailed,
                               EngineErrc::kNotNumbers, EngineErrc::kStopping}) {
    const ApiError error = api_error_of({why, "layer 3 at /srv/model 0x7ffe"});
    EXPECT_THAT(error_body(error), Not(HasSubstr("/srv")));
    EXPECT_EQ(error.param, "");
  }
}

TEST(ApiErrorTest, WhatAClientIsToldIsASentenceAndNotTwo) {
  const std::string words = "This model's maximum context length is 32 tokens. Please reduce it.";
  EXPECT_EQ(api_error_of({EngineErrc::kContextLengthExceeded, words}).message, words);
  EXPECT_EQ(api_error_of({EngineErrc::kContextLengthExceeded, words}).param, "");
  EXPECT_EQ(api_error_of({EngineErrc::kOverloaded, "too many requests wait"}).message,
            "too many requests wait: the engine is overloaded; try again later");
}

TEST(ApiErrorTest, OnlyWhatIsWorthTryingAgainSaysWhen) {
  using std::chrono::milliseconds;
  const auto retry = [](EngineErrc why, milliseconds given) {
    return api_error_of({why, {}}, given).retry_after;
  };
  EXPECT_EQ(retry(EngineErrc::kOverloaded, milliseconds(2500)), milliseconds(2500));
  EXPECT_EQ(retry(EngineErrc::kOverloaded, milliseconds(0)), milliseconds(1000));
  EXPECT_EQ(retry(EngineErrc::kStopping, milliseconds(0)), milliseconds(1000));
  EXPECT_EQ(retry(EngineErrc::kNotReady, milliseconds(0)), milliseconds(1000));
  EXPECT_EQ(retry(EngineErrc::kBadRequest, milliseconds(2500)), milliseconds(0));
  EXPECT_EQ(retry(EngineErrc::kAdapterFailed, milliseconds(2500)), milliseconds(0));
}

TEST(ApiErrorTest, TheFieldIsTakenFromTheEnginesWords) {
  const auto param = [](const char* detail) {
    return api_error_of({EngineErrc::kBadRequest, detail}).param;
  };
  EXPECT_EQ(param("stop: stop[1]: is empty: bad"), "stop[1]");
  EXPECT_EQ(param("stop: 17 texts"), "stop");
  EXPECT_EQ(param("sampling: top_p: 2 is not in 0 .. 1"), "top_p");
  EXPECT_EQ(param("prompt_tokens[1]: 48 is not in the vocabulary"), "prompt_tokens[1]");
  EXPECT_EQ(param("messages: chat_template:3: no user"), "messages");
  EXPECT_EQ(param("prompt, prompt_tokens, messages: more than one is given"), "");
  EXPECT_EQ(param("5 of something"), "");
  EXPECT_EQ(param(""), "");
}

TEST(ApiErrorTest, ANameEndsWhereItCanBeNoField) {
  EXPECT_EQ(leading_field("messages[2].content[0].type: x"), "messages[2].content[0].type");
  EXPECT_EQ(leading_field("dry.base"), "dry.base");
  EXPECT_EQ(leading_field("sentence. Next"), "sentence");
  EXPECT_EQ(leading_field("3 texts"), "");
  EXPECT_EQ(leading_field(""), "");
}

TEST(ApiErrorTest, TheBodyIsWhatOpenAisClientsRead) {
  ApiError error = bad_field("messages[2].role", "is missing", api_code::kMissing);
  EXPECT_EQ(error_body(error),
            R"({"error":{"message":"messages[2].role: is missing","type":"invalid_request_error",)"
            R"("param":"messages[2].role","code":"missing_required_parameter"}})");
  error = bad_field({}, "say \"please\"\n");
  error.code.clear();
  EXPECT_EQ(error_body(error),
            R"({"error":{"message":"say \"please\"\n","type":"invalid_request_error",)"
            R"("param":null,"code":null}})");
  std::string out = "data: ";
  append_error(error, out);
  EXPECT_TRUE(out.starts_with(R"(data: {"message":)"));
}

TEST(ApiErrorTest, BytesThatAreNotUtf8AreReplacedInAllThatGoesOut) {
  const std::string bad = "a\xFF\xC3";
  const std::string good = "a\uFFFD\uFFFD";
  for (const ApiError& error : {bad_field(bad, bad), api_error_of({EngineErrc::kBadRequest, bad}),
                                ApiError{.type = bad, .code = bad, .param = bad, .message = bad}}) {
    const std::string body = error_body(error);
    EXPECT_THAT(body, HasSubstr(good));
    EXPECT_THAT(body, Not(HasSubstr("\xFF")));
    EXPECT_NO_THROW(static_cast<void>(boost::json::parse(body)));
  }
  EXPECT_EQ(shown(bad), "\"" + good + "\"");
}

TEST(ApiErrorTest, AClientsTextIsCutBetweenCharacters) {
  EXPECT_EQ(shown("short"), "\"short\"");
  EXPECT_EQ(shown(std::string(64, 'x')), "\"" + std::string(64, 'x') + "\"");
  EXPECT_EQ(shown(std::string(65, 'x')), "\"" + std::string(64, 'x') + "...\"");
  EXPECT_EQ(shown(std::string(63, 'x') + "\u00E9" + "y"), "\"" + std::string(63, 'x') + "...\"");
  EXPECT_EQ(shown(std::string(1000, '\x80')), "\"...\"");
  const Error long_one{EngineErrc::kBadRequest, "messages: " + std::string(1U << 20U, 'x')};
  EXPECT_LT(api_error_of(long_one).message.size(), 1100U);
}

TEST(ApiErrorTest, TakingAValueThatIsNotThereThrowsItsMessage) {
  const ApiResult<std::string> none = bad_field("n", "is 0");
  EXPECT_THROW(static_cast<void>(none.value()), boost::system::system_error);
}

}  // namespace
}  // namespace weft
