#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/tools/call_id.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/written_events.h"

namespace weft {
namespace {

using test::add_silent_token;
using test::byte_model;
using test::data_of;
using test::finish_of;
using test::json_of;
using test::text_delta;
using test::typed_delta;
using testing::ElementsAre;

CompletionOptions chat_options(bool stream) {
  CompletionOptions options;
  options.id = "chatcmpl-1";
  options.created = 1700;
  options.model = "demo";
  options.stream = stream;
  return options;
}

std::string chat_chunk(std::string_view choices) {
  return R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700,"model":"demo",)"
         R"("system_fingerprint":"weft-0.1.0","choices":[)" +
         std::string(choices) + "]}";
}

TEST(ChatWriterTest, StreamsARoleThenTextsThenTheEnd) {
  const auto writer = make_chat_writer(chat_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->begin(out);
  writer->delta(0, text_delta("Hel\"lo"), out);
  writer->delta(0, text_delta("\n"), out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  EXPECT_THAT(
      data_of(out),
      ElementsAre(
          chat_chunk(R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,)"
                     R"("finish_reason":null})"),
          chat_chunk(
              R"({"index":0,"delta":{"content":"Hel\"lo"},"logprobs":null,"finish_reason":null})"),
          chat_chunk(
              R"({"index":0,"delta":{"content":"\n"},"logprobs":null,"finish_reason":null})"),
          chat_chunk(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop",)"
                     R"("stop_reason":null})"),
          "[DONE]"));
}

TEST(ChatWriterTest, ThoughtsAndCallsHaveDeltasOfTheirOwn) {
  const auto writer = make_chat_writer(chat_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, test::typed_delta(), out);
  writer->delta(0, test::call_end_delta(), out);
  Finish finish = finish_of(FinishReason::kStop);
  finish.choices[0].calls = 1;
  writer->end(std::vector{finish}, out);
  const auto chunk = [](std::string_view delta) {
    return chat_chunk(R"({"index":0,"delta":{)" + std::string(delta) +
                      R"(},"logprobs":null,"finish_reason":null})");
  };
  EXPECT_THAT(
      data_of(out),
      ElementsAre(
          chunk(R"("reasoning_content":"hm")"), chunk(R"("content":"Well")"),
          chunk(R"("tool_calls":[{"index":0,"id":")" + call_id("chatcmpl-1", 0, 0) +
                R"(","type":"function","function":{"name":"f","arguments":""}}])"),
          chunk(R"("tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}])"),
          chunk(R"("tool_calls":[{"index":0,"function":{"arguments":"1}"}}])"),
          chat_chunk(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls",)"
                     R"("stop_reason":null})"),
          "[DONE]"));
}

TEST(ChatWriterTest, AWholeAnswerHasThoughtsAndCallsBesideItsText) {
  const auto writer = make_chat_writer(chat_options(false), byte_model());
  EventBatch out(Framing::kBody);
  writer->delta(0, test::typed_delta(), out);
  writer->delta(0, test::call_end_delta(), out);
  Finish finish = finish_of(FinishReason::kStop);
  finish.choices[0].calls = 1;
  writer->end(std::vector{finish}, out);
  EXPECT_THAT(out.bytes(),
              testing::HasSubstr(
                  R"("message":{"role":"assistant","content":"Well","reasoning_content":"hm",)"
                  R"("tool_calls":[{"id":")" +
                  call_id("chatcmpl-1", 0, 0) +
                  R"(","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}],)"
                  R"("refusal":null},"logprobs":null,"finish_reason":"tool_calls")"));
}

TEST(ChatWriterTest, TellsTheIdsOfPromptAndOutputWhereThatIsAskedFor) {
  const auto prompt = std::make_shared<PromptTokens>();
  prompt->set({7, 8});
  CompletionOptions options = chat_options(true);
  options.token_ids = true;
  options.tokens_as_ids = true;
  options.logprobs = true;
  options.prompt_ids = {prompt};
  const auto writer = make_chat_writer(options, byte_model());
  EventBatch out(Framing::kSse);
  writer->begin(out);
  Delta delta = text_delta("a");
  delta.logprobs = {-1};
  writer->delta(0, delta, out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  const std::vector<std::string> chunks = data_of(out);
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(json_of(chunks[0]).at("prompt_token_ids"), boost::json::parse("[7,8]"));
  EXPECT_EQ(json_of(chunks[0]).at("choices").at(0).at("delta").at("role"), "assistant");
  const auto choice = json_of(chunks[1]).at("choices").at(0);
  EXPECT_EQ(choice.at("token_ids"), boost::json::parse("[97]"));
  EXPECT_EQ(choice.at("logprobs").at("content").at(0).at("token"), "token_id:97");

  options.stream = false;
  const auto whole = make_chat_writer(options, byte_model());
  EventBatch body(Framing::kBody);
  whole->delta(0, delta, body);
  whole->end(std::vector{finish_of(FinishReason::kStop)}, body);
  EXPECT_EQ(json_of(data_of(body).front()).at("prompt_token_ids"), boost::json::parse("[7,8]"));
  EXPECT_EQ(json_of(data_of(body).front()).at("choices").at(0).at("token_ids"),
            boost::json::parse("[97]"));
}

TEST(ChatWriterTest, ACallIsToldByItsOlderNameWhereFunctionsAreOffered) {
  CompletionOptions options = chat_options(true);
  options.older_calls = true;
  const auto writer = make_chat_writer(options, byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, test::typed_delta(), out);
  Finish finish = finish_of(FinishReason::kStop);
  finish.choices.front().calls = 1;
  writer->end(std::vector{finish}, out);
  const std::vector<std::string> chunks = data_of(out);
  ASSERT_EQ(chunks.size(), 6U);
  EXPECT_THAT(chunks[2], testing::HasSubstr(R"("delta":{"function_call":{"name":"f",)"
                                            R"("arguments":""}})"));
  EXPECT_THAT(chunks[3],
              testing::HasSubstr(R"("delta":{"function_call":{"arguments":"{\"a\":"}})"));
  EXPECT_THAT(chunks[4], testing::HasSubstr(R"("finish_reason":"function_call")"));

  options.stream = false;
  const auto whole = make_chat_writer(options, byte_model());
  EventBatch body(Framing::kBody);
  whole->delta(0, test::typed_delta(), body);
  whole->end(std::vector{finish}, body);
  const auto choice = json_of(data_of(body).front()).at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("function_call").at("name"), "f");
  EXPECT_EQ(choice.at("message").at("function_call").at("arguments"), "{\"a\":");
  EXPECT_FALSE(choice.at("message").as_object().contains("tool_calls"));
  EXPECT_EQ(choice.at("finish_reason"), "function_call");
}

TEST(ChatWriterTest, EventsOfAChatHaveNoNames) {
  const auto writer = make_chat_writer(chat_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, text_delta("a"), out);
  EXPECT_TRUE(out.bytes().starts_with("data: {"));
}

TEST(ChatWriterTest, AnswersWithOneObject) {
  const auto writer = make_chat_writer(chat_options(false), byte_model());
  EventBatch out(Framing::kBody);
  writer->begin(out);
  writer->delta(0, text_delta("Hel"), out);
  writer->delta(0, text_delta("lo"), out);
  EXPECT_TRUE(out.empty()) << "nothing before the end";
  writer->end(std::vector{finish_of(FinishReason::kLength, {7, 2})}, out);
  EXPECT_THAT(data_of(out),
              ElementsAre(R"({"id":"chatcmpl-1","object":"chat.completion","created":1700,)"
                          R"("model":"demo","system_fingerprint":"weft-0.1.0","choices":[)"
                          R"({"index":0,"message":{"role":"assistant","content":"Hello",)"
                          R"("refusal":null},"logprobs":null,"finish_reason":"length",)"
                          R"("stop_reason":null}],"usage":{"prompt_tokens":7,)"
                          R"("completion_tokens":2,"total_tokens":9,)"
                          R"("prompt_tokens_details":{"cached_tokens":0}}})"));
}

TEST(ChatWriterTest, TellsTheUsageInAChunkOfItsOwn) {
  CompletionOptions options = chat_options(true);
  options.include_usage = true;
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  writer->begin(out);
  writer->delta(0, text_delta("a"), out);
  writer->end(std::vector{finish_of(FinishReason::kStop, {7, 2})}, out);
  const auto data = data_of(out);
  ASSERT_EQ(data.size(), 5);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(json_of(data[i]).at("usage").is_null());
  EXPECT_TRUE(json_of(data[3]).at("choices").as_array().empty());
  EXPECT_EQ(json_of(data[3]).at("usage"),
            json_of(R"({"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,)"
                    R"("prompt_tokens_details":{"cached_tokens":0}})"));
  EXPECT_EQ(data[4], "[DONE]");
}

TEST(ChatWriterTest, TellsTheUsageInEveryChunkWhereThatIsAskedFor) {
  CompletionOptions options = chat_options(true);
  options.usage_in_chunks = true;
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  writer->admit(0, 7);
  writer->begin(out);
  writer->delta(0, text_delta("ab"), out);
  Delta half;
  half.tokens = {0xE2};  // a part of a character: there is no chunk, and the next chunk counts the
                         // token
  writer->delta(0, half, out);
  writer->delta(0, text_delta("c"), out);
  writer->end(std::vector{finish_of(FinishReason::kStop, {7, 5})}, out);
  std::vector<std::string> usages;
  for (const std::string& data : data_of(out)) {
    if (data != "[DONE]") usages.push_back(boost::json::serialize(json_of(data).at("usage")));
  }
  const auto usage = [](int tokens) {
    return R"({"prompt_tokens":7,"completion_tokens":)" + std::to_string(tokens) +
           R"(,"total_tokens":)" + std::to_string(7 + tokens) +
           R"(,"prompt_tokens_details":{"cached_tokens":0}})";
  };
  EXPECT_THAT(usages, ElementsAre(usage(0), usage(2), usage(4), usage(5)));
}

TEST(ChatWriterTest, UsageInChunksIsOfTheChunksOwnOutput) {
  CompletionOptions options = chat_options(true);
  options.usage_in_chunks = true;
  options.outputs_per_part = 2;
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  writer->admit(0, 7);
  writer->delta(0, text_delta("abc", 1), out);
  writer->delta(0, text_delta("a", 0), out);
  const auto data = data_of(out);
  ASSERT_EQ(data.size(), 2U);
  EXPECT_EQ(json_of(data[0]).at("usage").at("completion_tokens"), 3);
  EXPECT_EQ(json_of(data[1]).at("usage").at("completion_tokens"), 1);
}

TEST(ChatWriterTest, SaysNothingOfADeltaWithoutText) {
  const auto writer = make_chat_writer(chat_options(true), byte_model());
  EventBatch out(Framing::kSse);
  Delta delta;
  delta.tokens = {0xE2};
  writer->delta(0, delta, out);
  EXPECT_TRUE(out.empty());
}

TEST(ChatWriterTest, NumbersTheOutputsOfARequest) {
  CompletionOptions options = chat_options(true);
  options.outputs_per_part = 3;
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  writer->begin(out);
  EXPECT_EQ(data_of(out).size(), 3);
  out.clear();
  for (const int choice : {2, 0, 1, 2}) writer->delta(0, text_delta("x", choice), out);
  Finish finish = finish_of(FinishReason::kStop);
  finish.choices = {{.reason = FinishReason::kStop},
                    {.reason = FinishReason::kLength},
                    {.reason = FinishReason::kCancelled}};
  writer->end(std::vector{finish}, out);
  std::vector<std::string> seen;
  for (const std::string& data : data_of(out)) {
    if (data == "[DONE]") continue;
    const auto choice = json_of(data).at("choices").at(0);
    seen.push_back(boost::json::serialize(choice.at("index")) +
                   boost::json::serialize(choice.at("finish_reason")));
  }
  EXPECT_THAT(seen, ElementsAre("2null", "0null", "1null", "2null", R"(0"stop")", R"(1"length")",
                                R"(2"stop")"));
}

TEST(ChatWriterTest, NamesWhatStoppedAnOutput) {
  const auto stop_reason = [](ChoiceEnd end) {
    const auto writer = make_chat_writer(chat_options(false), byte_model());
    EventBatch out(Framing::kBody);
    Finish finish;
    finish.choices.push_back(std::move(end));
    writer->end(std::vector{finish}, out);
    return boost::json::serialize(
        json_of(data_of(out).front()).at("choices").at(0).at("stop_reason"));
  };
  EXPECT_EQ(stop_reason({.stop = "END\n"}), R"("END\n")");
  EXPECT_EQ(stop_reason({.stop_token = 65}), "65");
  EXPECT_EQ(stop_reason({.stop_token = test::kByteModelEnd}), "null") << "the model's own end";
  EXPECT_EQ(stop_reason({}), "null");
}

TEST(ChatWriterTest, ACallThatAStopStringCutsIsNoEndByCalls) {
  const auto finish_reason = [](ChoiceEnd end) {
    const auto writer = make_chat_writer(chat_options(false), byte_model());
    EventBatch out(Framing::kBody);
    Finish finish;
    finish.choices.push_back(std::move(end));
    writer->end(std::vector{finish}, out);
    return json_of(data_of(out).front()).at("choices").at(0).at("finish_reason");
  };
  EXPECT_EQ(finish_reason({.calls = 1}), "tool_calls");
  EXPECT_EQ(finish_reason({.stop = "}", .calls = 1, .in_call = true}), "stop");
  EXPECT_EQ(finish_reason({.stop = "END", .calls = 1}), "tool_calls") << "the call was complete";
  EXPECT_EQ(finish_reason({.reason = FinishReason::kLength, .calls = 1, .in_call = true}),
            "length");
}

TEST(ChatWriterTest, EchoesTheServiceTierWhenThereIsOne) {
  CompletionOptions options = chat_options(true);
  options.service_tier = "flex";
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, text_delta("a"), out);
  EXPECT_EQ(json_of(data_of(out).front()).at("service_tier"), "flex");
}

Delta chat_delta_with_logprobs() {
  Delta delta = text_delta("A\u00E9");
  delta.logprobs = {-0.5F, -std::numeric_limits<float>::infinity(), -1};
  delta.top_per_token = 2;
  delta.top = {{'A', -0.5F}, {'"', -1.25F}, {'B', -0.25F}, {9999, -2}, {0xA9, -1}, {'C', -2}};
  return delta;
}

constexpr std::string_view kContent =
    R"([{"token":"A","logprob":-0.5,"bytes":[65],"top_logprobs":[)"
    R"({"token":"A","logprob":-0.5,"bytes":[65]},{"token":"\"","logprob":-1.25,"bytes":[34]}]},)"
    "{\"token\":\"\uFFFD\",\"logprob\":-9999.0,\"bytes\":[195],\"top_logprobs\":["
    R"({"token":"B","logprob":-0.25,"bytes":[66]},{"token":"","logprob":-2.0,"bytes":[]}]},)"
    "{\"token\":\"\uFFFD\",\"logprob\":-1.0,\"bytes\":[169],\"top_logprobs\":["
    "{\"token\":\"\uFFFD\",\"logprob\":-1.0,\"bytes\":[169]},"
    R"({"token":"C","logprob":-2.0,"bytes":[67]}]}])";

TEST(ChatWriterTest, StreamsTheLogprobsOfEachToken) {
  CompletionOptions options = chat_options(true);
  options.logprobs = true;
  options.top_logprobs = 2;
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  Delta first = chat_delta_with_logprobs();
  add_silent_token(first, 'x', -1);  // the token of a tag
  writer->delta(0, first, out);
  Delta tag;
  add_silent_token(tag, 'y', -1);
  writer->delta(0, tag, out);
  const auto data = data_of(out);
  ASSERT_EQ(data.size(), 1) << "tokens that made no text are not told";
  const auto logprobs = [&](std::size_t i) {
    return json_of(data[i]).at("choices").at(0).at("logprobs");
  };
  EXPECT_EQ(logprobs(0).at("content"), json_of(kContent));
  EXPECT_TRUE(logprobs(0).at("refusal").is_null());
}

TEST(ChatWriterTest, AContentsTokensAreThoseThatMadeIt) {
  CompletionOptions options = chat_options(true);
  options.logprobs = true;
  for (const bool stream : {true, false}) {
    options.stream = stream;
    const auto writer = make_chat_writer(options, byte_model());
    EventBatch out(stream ? Framing::kSse : Framing::kBody);
    Delta delta = typed_delta();  // "hm", "Well" and a call
    delta.logprobs.assign(delta.tokens.size(), -1);
    writer->delta(0, delta, out);
    if (!stream) writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
    std::string tokens;
    for (const std::string& data : data_of(out)) {
      const auto choice = json_of(data).at("choices").at(0);
      if (choice.at("logprobs").is_null()) continue;
      for (const auto& token : choice.at("logprobs").at("content").as_array()) {
        tokens += token.at("token").as_string();
      }
    }
    EXPECT_EQ(tokens, "Well");
  }
}

TEST(ChatWriterTest, ATokenThatMadeATextInPartIsWrittenAsThatPart) {
  CompletionOptions options = chat_options(true);
  options.logprobs = true;
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  Delta delta = text_delta("A");
  delta.tokens = {'B'};  // as if 'B' had made 'A' and a text that is not shown
  delta.logprobs = {-1};
  delta.top_per_token = 1;
  delta.top = {{'B', -1}};
  writer->delta(0, delta, out);
  const auto content =
      json_of(data_of(out).front()).at("choices").at(0).at("logprobs").at("content");
  EXPECT_EQ(content, json_of(R"([{"token":"A","logprob":-1.0,"bytes":[65],"top_logprobs":[)"
                             R"({"token":"A","logprob":-1.0,"bytes":[65]}]}])"));
}

TEST(ChatWriterTest, AnswersWithAllLogprobs) {
  CompletionOptions options = chat_options(false);
  options.logprobs = true;
  const auto writer = make_chat_writer(std::move(options), byte_model());
  EventBatch out(Framing::kBody);
  for (int i = 0; i < 2; ++i) writer->delta(0, chat_delta_with_logprobs(), out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  const auto answer = json_of(data_of(out).front());
  const auto& content = answer.at("choices").at(0).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 6);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(content[i], json_of(kContent).at(i % 3));
}

TEST(ChatWriterTest, WritesNoLogprobsThatNobodyAskedFor) {
  const auto writer = make_chat_writer(chat_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, chat_delta_with_logprobs(), out);
  EXPECT_TRUE(json_of(data_of(out).front()).at("choices").at(0).at("logprobs").is_null());
}

TEST(ChatWriterTest, TellsAFailureAndNothingAfter) {
  const ApiError error{.status = 500, .type = "server_error", .message = "it \"broke\""};
  const std::string body =
      R"({"error":{"message":"it \"broke\"","type":"server_error","param":null,"code":null}})";
  const auto streaming = make_chat_writer(chat_options(true), byte_model());
  EventBatch events(Framing::kSse);
  streaming->begin(events);
  events.clear();
  streaming->fail(error, {}, events);
  EXPECT_EQ(events.bytes(), "data: " + body + "\n\n");

  const auto plain = make_chat_writer(chat_options(false), byte_model());
  EventBatch out(Framing::kBody);
  plain->begin(out);
  plain->delta(0, text_delta("half"), out);
  plain->fail(error, {}, out);
  EXPECT_TRUE(out.empty()) << "it is the error's own status and body";
}

}  // namespace
}  // namespace weft
