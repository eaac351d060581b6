#include "weft/cli/chat/response_messages.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "weft/cli/chat/answer_inbox.h"
#include "weft/cli/chat/answer_router.h"

namespace weft::cli {
namespace {

using Kind = AnswerEnd::Kind;

AnswerEnd end_in(std::string_view message) {
  const auto event = parse_event(message);
  if (!event || !std::holds_alternative<AnswerEnd>(event->news)) {
    ADD_FAILURE() << message;
    return {};
  }
  EXPECT_EQ(event->id, "c1");
  return std::get<AnswerEnd>(event->news);
}

TEST(ResponseMessages, AsksInAStreamAndStoresNothing) {
  const auto message = boost::json::parse(create_message("c1", {{"input", "hi"}})).as_object();
  EXPECT_EQ(message.at("type"), "response.create");
  EXPECT_EQ(message.at("stream_id"), "c1");
  EXPECT_EQ(message.at("input"), "hi");
  EXPECT_EQ(message.at("store"), false);
}

TEST(ResponseMessages, ReadsText) {
  const auto event = parse_event(
      R"({"type":"response.output_text.delta","stream_id":"c1","delta":"a\nb","sequence_number":3})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, "c1");
  EXPECT_EQ(std::get<std::string>(event->news), "a\nb");
}

TEST(ResponseMessages, ReadsThoughts) {
  const auto event =
      parse_event(R"({"type":"response.reasoning_text.delta","stream_id":"c1","delta":"hm"})");
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<AnswerThought>(event->news).text, "hm");
}

TEST(ResponseMessages, ReadsACallOnceItIsWhole) {
  const auto event = parse_event(
      R"({"type":"response.output_item.done","stream_id":"c1","item":{"type":"function_call",)"
      R"("call_id":"abc","name":"add","arguments":"{\"a\": 1}"}})");
  ASSERT_TRUE(event);
  const auto& call = std::get<AnswerCall>(event->news);
  EXPECT_EQ(call.id, "abc");
  EXPECT_EQ(call.name, "add");
  EXPECT_EQ(call.arguments, R"({"a": 1})");
}

TEST(ResponseMessages, ReadsHowAnAnswerEnded) {
  const AnswerEnd done = end_in(
      R"({"type":"response.completed","stream_id":"c1","response":{"usage":{"output_tokens":7}}})");
  EXPECT_EQ(done.kind, Kind::kCompleted);
  EXPECT_EQ(done.output_tokens, 7);
  EXPECT_EQ(end_in(R"({"type":"response.incomplete","stream_id":"c1","response":{)"
                   R"("incomplete_details":{"reason":"max_output_tokens"}}})")
                .kind,
            Kind::kLength);
  EXPECT_EQ(end_in(R"({"type":"response.incomplete","stream_id":"c1","response":{)"
                   R"("incomplete_details":{"reason":"cancelled"}}})")
                .kind,
            Kind::kCancelled);
  const AnswerEnd failed = end_in(R"({"type":"response.failed","stream_id":"c1","response":{)"
                                  R"("error":{"code":"server_error","message":"broken"}}})");
  EXPECT_EQ(failed.kind, Kind::kFailed);
  EXPECT_EQ(failed.why, "broken");
  EXPECT_FALSE(failed.again);
}

TEST(ResponseMessages, ReadsWhatWasWrongWithARequest) {
  const AnswerEnd full =
      end_in(R"({"type":"error","stream_id":"c1","status":400,"error":{"message":"too long",)"
             R"("code":"context_length_exceeded","param":null}})");
  EXPECT_EQ(full.kind, Kind::kRefused);
  EXPECT_TRUE(full.context_full);
  const AnswerEnd wrong =
      end_in(R"({"type":"error","stream_id":"c1","status":400,"error":{"message":"top_p: is 7",)"
             R"("code":"invalid_value","param":"top_p"}})");
  EXPECT_FALSE(wrong.context_full);
  EXPECT_EQ(wrong.param, "top_p");
}

TEST(ResponseMessages, KnowsWhichRefusalsAreForNow) {
  const AnswerEnd bad = end_in(
      R"({"type":"error","status":400,"stream_id":"c1","error":{"message":"top_p: too big"}})");
  EXPECT_EQ(bad.kind, Kind::kRefused);
  EXPECT_EQ(bad.why, "top_p: too big");
  EXPECT_FALSE(bad.again);
  EXPECT_TRUE(end_in(R"({"type":"error","status":429,"stream_id":"c1","error":{}})").again);
  EXPECT_TRUE(end_in(R"({"type":"error","status":503,"stream_id":"c1"})").again);
  EXPECT_FALSE(end_in(R"({"type":"error","status":503,"stream_id":"c1",)"
                      R"("error":{"code":"not_ready"}})")
                   .again)
      << "its engine has failed for good";
  EXPECT_TRUE(end_in(R"({"type":"error","status":429,"stream_id":"c1",)"
                     R"("error":{"code":"too_many_streams"}})")
                  .fewer_streams);
  EXPECT_EQ(
      end_in(R"({"type":"error","status":499,"stream_id":"c1","error":{"code":"cancelled"}})").kind,
      Kind::kCancelled);
}

TEST(ResponseMessages, PassesOverWhatSaysNothingNew) {
  for (const char* message :
       {"", "{", "[]", "7", R"({"type":7})", R"({"type":"response.created"})",
        R"({"type":"response.output_item.done","stream_id":"c1"})",
        R"({"type":"response.output_item.done","item":{"type":"message"}})"}) {
    EXPECT_FALSE(parse_event(message)) << message;
  }
}

class AnswerRouterTest : public testing::Test {
 protected:
  std::vector<AnswerNews> take() { return inbox_.take(); }

  int woken_ = 0;
  AnswerInbox inbox_{[this] { ++woken_; }};
  AnswerRouter router_{inbox_};
};

TEST_F(AnswerRouterTest, EndsEveryAnswerOnce) {
  router_.begin("c1", 5);
  router_.begin("b1-0", 5);
  router_.on_message(R"({"type":"response.output_text.delta","stream_id":"c1","delta":"one "})");
  router_.on_message(R"({"type":"response.output_text.delta","stream_id":"c1","delta":"two"})");
  router_.on_message(R"({"type":"response.completed","stream_id":"c1","response":{}})");
  router_.on_message(R"({"type":"response.completed","stream_id":"c1","response":{}})");
  router_.on_message(R"({"type":"response.output_text.delta","stream_id":"c9","delta":"x"})");
  router_.end_all({.kind = Kind::kFailed, .why = "lost"});
  router_.end_all({.kind = Kind::kFailed, .why = "lost"});
  const auto news = take();
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].text, "one two");
  EXPECT_EQ(news[0].end->kind, Kind::kCompleted);
  EXPECT_EQ(news[1].id, "b1-0");
  EXPECT_EQ(news[1].end->why, "lost");
  EXPECT_EQ(woken_, 1) << "one wake until the news are taken";
}

TEST_F(AnswerRouterTest, TellsThoughtsAndCallsApartFromText) {
  router_.begin("c1", 5);
  router_.on_message(R"({"type":"response.reasoning_text.delta","stream_id":"c1","delta":"h"})");
  router_.on_message(R"({"type":"response.reasoning_text.delta","stream_id":"c1","delta":"m"})");
  router_.on_message(R"({"type":"response.output_text.delta","stream_id":"c1","delta":"one"})");
  for (const char* name : {"add", "now"}) {
    router_.on_message(std::string(R"({"type":"response.output_item.done","stream_id":"c1",)") +
                       R"("item":{"type":"function_call","name":")" + name + "\"}}");
  }
  const auto news = take();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].thoughts, "hm");
  EXPECT_EQ(news[0].text, "one");
  ASSERT_EQ(news[0].calls.size(), 2U);
  EXPECT_EQ(news[0].calls[1].name, "now");
}

TEST_F(AnswerRouterTest, EndsTheLargestAlone) {
  router_.begin("c1", 5);
  router_.begin("c2", 700);
  router_.begin("c3", 70);
  EXPECT_EQ(router_.end_largest({.kind = Kind::kRefused}), 700U);
  EXPECT_EQ(router_.end_largest({.kind = Kind::kRefused}), 70U);
  const auto news = take();
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].id, "c2");
  EXPECT_EQ(news[1].id, "c3");
  EXPECT_TRUE(router_.active("c1"));
}

TEST_F(AnswerRouterTest, GivesAnEventWithoutAStreamToTheOnlyAnswer) {
  router_.begin("c1", 5);
  router_.on_message(R"({"type":"response.output_text.delta","delta":"x"})");
  router_.begin("c2", 5);
  router_.on_message(R"({"type":"response.output_text.delta","delta":"y"})");
  const auto news = take();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].text, "x");
}

}  // namespace
}  // namespace weft::cli
