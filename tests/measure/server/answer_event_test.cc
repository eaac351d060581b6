#include "weft/measure/server/answer_event.h"

#include <gmock/gmock.h>

#include <string>

namespace weft::measure {
namespace {

class AnswerEventTest : public testing::Test {
 protected:
  AnswerEvent completion(std::string_view data) {
    const auto event = reader_.completion(data);
    EXPECT_TRUE(event) << data;
    return event.value_or(AnswerEvent{});
  }
  AnswerEvent response(std::string_view data) {
    const auto event = reader_.response(data);
    EXPECT_TRUE(event) << data;
    return event.value_or(AnswerEvent{});
  }

  AnswerEventReader reader_;
};

TEST_F(AnswerEventTest, SeesTheTokensOfACompletion) {
  const auto token = completion(
      R"({"id":"x","choices":[{"text":"a \"b\"","index":0,"finish_reason":null}],"usage":null})");
  EXPECT_TRUE(token.piece);
  EXPECT_FALSE(token.finished);
  EXPECT_FALSE(token.output);
  EXPECT_TRUE(completion(R"({"choices":[{"index":0,"text":"","finish_reason":null}]})").piece)
      << "a token that has no text of its own yet";
}

TEST_F(AnswerEventTest, TellsTheEndFromALastToken) {
  const auto end = completion(R"({"choices":[{"text":"","finish_reason":"length"}]})");
  EXPECT_FALSE(end.piece);
  EXPECT_TRUE(end.finished);
  const auto both = completion(R"({"choices":[{"finish_reason":"stop","text":"x"}]})");
  EXPECT_TRUE(both.piece);
  EXPECT_TRUE(both.finished);
  EXPECT_TRUE(completion("[DONE]").finished);
}

TEST_F(AnswerEventTest, ReadsTheUsageBesideAndBehindTheChoices) {
  const auto usage = completion(
      R"({"choices":[],"usage":{"prompt_tokens":7,"total_tokens":12,"completion_tokens":5,)"
      R"("prompt_tokens_details":{"cached_tokens":0}}})");
  EXPECT_EQ(usage.prompt, 7);
  EXPECT_EQ(usage.output, 5);
  EXPECT_FALSE(usage.piece);
  EXPECT_FALSE(usage.finished);
}

TEST_F(AnswerEventTest, LeavesOutTheRoleThatAChatBeginsWith) {
  EXPECT_FALSE(completion(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})").piece);
  EXPECT_TRUE(completion(R"({"choices":[{"delta":{"content":"x"}}]})").piece);
  EXPECT_TRUE(completion(R"({"choices":[{"delta":{"content":""}}]})").piece);
  EXPECT_TRUE(completion(R"({"choices":[{"delta":{"role":"assistant","content":"x"}}]})").piece);
  EXPECT_TRUE(completion(R"({"choices":[{"delta":{"reasoning_content":"x"}}]})").piece);
  const auto end = completion(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})");
  EXPECT_FALSE(end.piece);
  EXPECT_TRUE(end.finished);
}

TEST_F(AnswerEventTest, ReadsErrorsInEveryFormThatServersHave) {
  EXPECT_EQ(completion(R"({"error":{"message":"m","type":"t","code":"c"}})").error, "c");
  EXPECT_EQ(completion(R"({"error":{"message":"m","type":"t","code":null}})").error, "t");
  EXPECT_EQ(completion(R"({"error":{"code":400,"message":"m"}})").error, "400");
  EXPECT_EQ(completion(R"({"error":"words"})").message, "words");
  EXPECT_EQ(completion(R"({"error":{}})").error, "unknown");
  EXPECT_EQ(completion(R"({"error":null})").error, "");
  EXPECT_EQ(reader_.failure(R"({"object":"error","message":"m","code":404})").error, "404");
  EXPECT_EQ(reader_.failure(R"({"object":"error","message":"m","code":404})").message, "m");
  EXPECT_EQ(reader_.failure("<html>oops</html>").error, "");
  EXPECT_EQ(reader_.failure("").error, "");
}

TEST_F(AnswerEventTest, KnowsWhatIsNoJson) {
  for (const auto* text : {"", "{", "nonsense", "[1]", "<html>", "\"text\"", R"({"choices":[)",
                           R"({"choices":[{"text":"x)"}) {
    EXPECT_FALSE(reader_.completion(text)) << text;
    EXPECT_FALSE(reader_.response(text)) << text;
  }
  EXPECT_FALSE(reader_.response("{}")) << "an event has a type";
}

TEST_F(AnswerEventTest, TakesWhateverFieldsHaveOtherTypes) {
  for (const auto* text :
       {R"({"choices":7})", R"({"choices":[7]})", R"({"choices":[{"text":7,"delta":[]}]})",
        R"({"usage":{"prompt_tokens":"x","completion_tokens":1e99}})", R"({"usage":[]})"}) {
    const auto event = reader_.completion(text);
    if (event) {
      EXPECT_FALSE(event->output) << text;
    }
  }
}

TEST_F(AnswerEventTest, FollowsTheEventsOfAResponse) {
  const auto begun = response(
      R"({"type":"response.created","stream_id":"3","response":{"usage":null,"error":null}})");
  EXPECT_EQ(begun.stream_id, "3");
  EXPECT_FALSE(begun.piece || begun.finished);
  EXPECT_TRUE(
      response(R"({"type":"response.output_text.delta","stream_id":"3","delta":"x"})").piece);
  const auto end = response(R"({"type":"response.incomplete","response":{"output":[{"text":"x"}],)"
                            R"("usage":{"input_tokens":4,"output_tokens":9}},"stream_id":"3"})");
  EXPECT_TRUE(end.finished);
  EXPECT_EQ(end.prompt, 4);
  EXPECT_EQ(end.output, 9);
  EXPECT_EQ(end.stream_id, "3");
}

TEST_F(AnswerEventTest, ReadsTheErrorsOfAWebSocket) {
  const auto refused =
      response(R"({"type":"error","status":429,"error":{"code":"overloaded","message":"m"}})");
  EXPECT_EQ(refused.error, "overloaded");
  EXPECT_EQ(refused.stream_id, "");
  EXPECT_EQ(response(R"({"type":"response.failed","response":{"error":{"code":"oops"}}})").error,
            "oops");
  EXPECT_EQ(response(R"({"type":"response.failed","response":{}})").error, "unknown");
}

TEST_F(AnswerEventTest, ReadsEventsOfAnyLength) {
  const std::string text(100'000, 'x');
  EXPECT_TRUE(completion(R"({"choices":[{"text":")" + text + R"("}]})").piece);
}

}  // namespace
}  // namespace weft::measure
