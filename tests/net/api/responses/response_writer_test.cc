#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/tools/tool_origin.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/responses/response_options.h"
#include "weft/tests/net/api/tool_model.h"
#include "weft/tests/net/api/written_events.h"

namespace weft {
namespace {

using test::add_silent_token;
using test::byte_model;
using test::data_of;
using test::events_of;
using test::finish_of;
using test::json_of;
using test::response_options;
using test::text_delta;
using testing::ElementsAre;

Finish finish_after(std::chrono::seconds took, FinishReason reason = FinishReason::kStop) {
  Finish finish = finish_of(reason);
  finish.times.arrived = TimePoint(std::chrono::hours(1));
  finish.times.ended = finish.times.arrived + took;
  return finish;
}

/// Returns a response object from its status to its end; `rest` begins with the output.
std::string object_of(std::string_view status, std::string_view rest) {
  return R"({"id":"resp_1","object":"response","status":")" + std::string(status) +
         R"(","created_at":1700,"model":"demo","metadata":{"k":"v"},"output":)" +
         std::string(rest) + "}";
}

constexpr std::string_view kNothingYet =
    R"([],"usage":null,"error":null,"incomplete_details":null,"completed_at":null)";
constexpr std::string_view kPart =
    R"({"type":"output_text","text":"Hello\n","annotations":[],"logprobs":[]})";
constexpr std::string_view kUsage =
    R"({"input_tokens":5,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},)"
    R"("output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":8})";

std::string item_of(std::string_view status, std::string_view content) {
  return R"({"type":"message","id":"msg_1","role":"assistant","status":")" + std::string(status) +
         R"(","content":[)" + std::string(content) + "]}";
}

std::string completed_object() {
  return object_of("completed", "[" + item_of("completed", kPart) + R"(],"usage":)" +
                                    std::string(kUsage) +
                                    R"(,"error":null,"incomplete_details":null,)"
                                    R"("completed_at":1703)");
}

void write_hello(ReplyWriter& writer, EventBatch& out) {
  writer.begin(out);
  writer.delta(0, text_delta("Hel"), out);
  writer.delta(0, text_delta("lo\n"), out);
  writer.end(std::vector{finish_after(std::chrono::seconds(3))}, out);
}

TEST(ResponseWriterTest, StreamsTheEventsOfAResponseInTheirOrder) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  write_hello(*writer, out);
  const std::string place = R"("item_id":"msg_1","output_index":0,"content_index":0)";
  const std::string no_part = R"({"type":"output_text","text":"","annotations":[],"logprobs":[]})";
  EXPECT_THAT(
      data_of(out),
      ElementsAre(
          R"({"type":"response.created","sequence_number":0,"response":)" +
              object_of("in_progress", kNothingYet) + "}",
          R"({"type":"response.in_progress","sequence_number":1,"response":)" +
              object_of("in_progress", kNothingYet) + "}",
          R"({"type":"response.output_item.added","output_index":0,"sequence_number":2,"item":)" +
              item_of("in_progress", "") + "}",
          R"({"type":"response.content_part.added",)" + place + R"(,"sequence_number":3,"part":)" +
              no_part + "}",
          R"({"type":"response.output_text.delta",)" + place +
              R"(,"sequence_number":4,"delta":"Hel","logprobs":[]})",
          R"({"type":"response.output_text.delta",)" + place +
              R"(,"sequence_number":5,"delta":"lo\n","logprobs":[]})",
          R"({"type":"response.output_text.done",)" + place +
              R"(,"logprobs":[],"sequence_number":6,"text":"Hello\n"})",
          R"({"type":"response.content_part.done",)" + place + R"(,"sequence_number":7,"part":)" +
              std::string(kPart) + "}",
          R"({"type":"response.output_item.done","output_index":0,"sequence_number":8,"item":)" +
              item_of("completed", kPart) + "}",
          R"({"type":"response.completed","sequence_number":9,"response":)" + completed_object() +
              "}",
          "[DONE]"));
}

TEST(ResponseWriterTest, AnswersWithTheObjectThatAStreamEndsWith) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kBody);
  EventBatch out(Framing::kBody);
  write_hello(*writer, out);
  EXPECT_EQ(out.bytes(), completed_object());
}

TEST(ResponseWriterTest, TellsWhatBecameOfGuesses) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kBody);
  EventBatch out(Framing::kBody);
  writer->begin(out);
  writer->delta(0, text_delta("Hello\n"), out);
  Finish finish = finish_after(std::chrono::seconds(3));
  finish.usage.accepted_guesses = 2;
  finish.usage.rejected_guesses = 1;
  writer->end(std::vector{finish}, out);
  EXPECT_THAT(std::string(out.bytes()),
              testing::HasSubstr(R"("output_tokens_details":{"reasoning_tokens":0,)"
                                 R"("accepted_prediction_tokens":2,)"
                                 R"("rejected_prediction_tokens":1},"total_tokens")"));
}

TEST(ResponseWriterTest, NamesEachEventByItsTypeInSse) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  write_hello(*writer, out);
  for (const test::WrittenEvent& event : events_of(out)) {
    if (event.data == "[DONE]") {
      EXPECT_EQ(event.name, "");
    } else {
      EXPECT_EQ(event.name, json_of(event.data).at("type").as_string());
    }
  }
}

TEST(ResponseWriterTest, SendsTheSameOverWebSocketWithoutDone) {
  const auto events = make_response_writer(response_options(), byte_model(), Framing::kSse);
  EventBatch sse(Framing::kSse);
  write_hello(*events, sse);
  const auto messages = make_response_writer(response_options(), byte_model(), Framing::kWebSocket);
  EventBatch out(Framing::kWebSocket);
  write_hello(*messages, out);
  auto expected = data_of(sse);
  EXPECT_EQ(expected.back(), "[DONE]");
  expected.pop_back();
  EXPECT_EQ(data_of(out), expected);
}

TEST(ResponseWriterTest, PutsTheStreamIdIntoEveryEvent) {
  ResponseOptions options = response_options();
  options.stream_id = "stream \"7\"";
  const auto writer = make_response_writer(options, byte_model(), Framing::kWebSocket);
  EventBatch out(Framing::kWebSocket);
  write_hello(*writer, out);
  for (const std::string& data : data_of(out)) {
    EXPECT_EQ(json_of(data).at("stream_id"), "stream \"7\"") << data;
  }
  const auto failing = make_response_writer(options, byte_model(), Framing::kWebSocket);
  out.clear();
  failing->fail({.message = "no"}, {}, out);
  EXPECT_EQ(json_of(data_of(out).front()).at("stream_id"), "stream \"7\"");
}

TEST(ResponseWriterTest, AddsTheMessageWhenItsFirstTextComes) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  writer->begin(out);
  EXPECT_EQ(data_of(out).size(), 2);
  out.clear();
  Delta incomplete;
  incomplete.tokens = {0xE2};
  writer->delta(0, incomplete, out);
  EXPECT_TRUE(out.empty());
  writer->delta(0, text_delta("a"), out);
  EXPECT_EQ(data_of(out).size(), 3);
}

TEST(ResponseWriterTest, CompletesAResponseThatIsEmpty) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  writer->begin(out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  std::vector<std::string> types;
  for (const test::WrittenEvent& event : events_of(out)) types.push_back(event.name);
  EXPECT_THAT(types, ElementsAre("response.created", "response.in_progress",
                                 "response.output_item.added", "response.content_part.added",
                                 "response.output_text.done", "response.content_part.done",
                                 "response.output_item.done", "response.completed", ""));
}

TEST(ResponseWriterTest, WritesLogprobsOfDeltasAndOfTheWhole) {
  ResponseOptions options = response_options();
  options.logprobs = true;
  const auto writer = make_response_writer(options, byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  writer->begin(out);
  for (const char letter : {'A', 'B'}) {
    Delta delta = text_delta(std::string(1, letter));
    delta.logprobs = {-0.5F};
    delta.top_per_token = 1;
    delta.top = {{letter, -0.5F}};
    writer->delta(0, delta, out);
  }
  Delta tag;
  add_silent_token(tag, 'x', -1);
  writer->delta(0, tag, out);
  Delta cut = text_delta("\u00E9");
  cut.logprobs = {-1, -1};
  writer->delta(0, cut, out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  const auto data = data_of(out);
  ASSERT_EQ(data.size(), 12);
  const std::string a = R"({"token":"A","logprob":-0.5,"bytes":[65],)"
                        R"("top_logprobs":[{"token":"A","logprob":-0.5,"bytes":[65]}]})";
  const std::string b = R"({"token":"B","logprob":-0.5,"bytes":[66],)"
                        R"("top_logprobs":[{"token":"B","logprob":-0.5,"bytes":[66]}]})";
  const std::string c =
      "{\"token\":\"\uFFFD\",\"logprob\":-1.0,\"bytes\":[195],\"top_logprobs\":[]},"
      "{\"token\":\"\uFFFD\",\"logprob\":-1.0,\"bytes\":[169],\"top_logprobs\":[]}";
  EXPECT_EQ(json_of(data[4]).at("logprobs"), json_of("[" + a + "]"));
  EXPECT_EQ(json_of(data[5]).at("logprobs"), json_of("[" + b + "]"));
  EXPECT_EQ(json_of(data[6]).at("delta"), "\u00E9");
  EXPECT_EQ(json_of(data[6]).at("logprobs"), json_of("[" + c + "]"));
  const auto all = json_of("[" + a + "," + b + "," + c + "]");
  EXPECT_EQ(json_of(data[7]).at("logprobs"), all);
  EXPECT_EQ(json_of(data[8]).at("part").at("logprobs"), all);
  EXPECT_EQ(json_of(data[10]).at("response").at("output").at(0).at("content").at(0).at("logprobs"),
            all);
}

TEST(ResponseWriterTest, KeepsACallOpenWhereATokenHasNoText) {
  ResponseOptions options = response_options();
  options.logprobs = true;
  const auto writer = make_response_writer(options, byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  writer->begin(out);
  const std::vector<PieceMark> begins = {{0, PieceKind::kCallName}, {1, PieceKind::kArguments}};
  const std::vector<PieceMark> goes_on = {{0, PieceKind::kArguments}, {3, PieceKind::kCallEnd}};
  Delta head;
  head.text = "f{\"a\"";
  head.marks = begins;
  add_silent_token(head, 'f', -1);
  Delta silent;
  add_silent_token(silent, 'x', -1);
  Delta rest = head;
  rest.text = ":1}";
  rest.marks = goes_on;
  for (const Delta* delta : {&head, &silent, &rest}) writer->delta(0, *delta, out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  const auto data = data_of(out);
  const auto output = json_of(data.at(data.size() - 2)).at("response").at("output").as_array();
  ASSERT_EQ(output.size(), 1);
  EXPECT_EQ(output[0].at("name"), "f");
  EXPECT_EQ(output[0].at("arguments"), "{\"a\":1}");
  EXPECT_EQ(output[0].at("status"), "completed");
}

// How a response with this end of its one output ends: its status, and why it is incomplete.
std::string end_of_response(ChoiceEnd end, bool structured) {
  ResponseOptions options = response_options();
  options.structured = structured;
  const auto writer = make_response_writer(options, byte_model(), Framing::kBody);
  EventBatch out(Framing::kBody);
  writer->begin(out);
  writer->delta(0, text_delta("{"), out);
  Finish finish;
  finish.choices.push_back(std::move(end));
  writer->end(std::vector{finish}, out);
  const auto response = json_of(out.bytes());
  return boost::json::serialize(response.at("status")) +
         boost::json::serialize(response.at("incomplete_details"));
}

TEST(ResponseWriterTest, WhatAStopStringCutsThatHadToBeCompleteIsIncomplete) {
  constexpr std::string_view kCut = R"("incomplete"{"reason":"stop"})";
  constexpr std::string_view kDone = R"("completed"null)";
  EXPECT_EQ(end_of_response({.stop = "x"}, true), kCut);
  EXPECT_EQ(end_of_response({.stop = "x", .calls = 1, .in_call = true}, false), kCut);
  EXPECT_EQ(end_of_response({.stop = "x"}, false), kDone) << "a text may end anywhere";
  EXPECT_EQ(end_of_response({.stop = "x", .calls = 1}, true), kDone) << "the call was complete";
  EXPECT_EQ(end_of_response({}, true), kDone);
}

/// Options with tools that the client calls otherwise than the model does.
ResponseOptions agent_options() {
  ToolOrigins tools;
  tools.add("calc__add", {ToolKind::kFunction, "calc", "add"});
  tools.add("patch", {ToolKind::kCustom, {}, "patch"});
  tools.add("tool_search", {ToolKind::kSearch, {}, "tool_search"});
  ResponseOptions options = response_options();
  options.tools = std::make_shared<const ToolOrigins>(std::move(tools));
  return options;
}

/// Writes a call of each of them.
void write_calls(ReplyWriter& writer, EventBatch& out) {
  writer.begin(out);
  writer.delta(0,
               test::typed_delta({{PieceKind::kCallName, "calc__add"},
                                  {PieceKind::kArguments, "{\"a\":1}"},
                                  {PieceKind::kCallEnd, ""},
                                  {PieceKind::kCallName, "patch"},
                                  {PieceKind::kArguments, "{\"input\":"}}),
               out);
  writer.delta(0,
               test::typed_delta({{PieceKind::kArguments, "\"x\\ny\"}"},
                                  {PieceKind::kCallEnd, ""},
                                  {PieceKind::kCallName, "tool_search"},
                                  {PieceKind::kArguments, "{\"query\":\"q\"}"},
                                  {PieceKind::kCallEnd, ""}}),
               out);
  writer.end(std::vector{finish_after(std::chrono::seconds(3))}, out);
}

/// Leaves out the ids of calls, which are made of the response's.
std::string without_call_ids(std::string_view json) {
  boost::json::array items;
  const boost::json::value parsed = boost::json::parse(json);
  for (const boost::json::value& item : parsed.as_array()) {
    boost::json::object kept;
    for (const auto& field : item.as_object()) {
      if (field.key() != "call_id") kept.emplace(field.key(), field.value());
    }
    items.push_back(std::move(kept));
  }
  return boost::json::serialize(items);
}

TEST(ResponseWriterTest, CallsOfAgentsToolsAreNamedAsTheClientNamesThem) {
  const auto writer = make_response_writer(agent_options(), byte_model(), Framing::kBody);
  EventBatch out(Framing::kBody);
  write_calls(*writer, out);
  EXPECT_EQ(
      without_call_ids(boost::json::serialize(json_of(out.bytes()).at("output"))),
      R"([{"type":"function_call","id":"fc_1","name":"add","namespace":"calc",)"
      R"("arguments":"{\"a\":1}","status":"completed"},{"type":"custom_tool_call","id":"ctc_1",)"
      R"("name":"patch","input":"x\ny","status":"completed"},{"type":"tool_search_call",)"
      R"("id":"tsc_1","execution":"client","arguments":{"query":"q"},"status":"completed"}])");
}

TEST(ResponseWriterTest, TheInputOfACustomToolIsStreamedWhenItsCallHasEnded) {
  const auto writer = make_response_writer(agent_options(), byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  write_calls(*writer, out);
  std::vector<std::string> said;
  for (const test::WrittenEvent& event : events_of(out)) {
    if (!event.name.starts_with("response.output_item") && !event.name.ends_with("completed")) {
      said.emplace_back(event.name);
    }
  }
  EXPECT_THAT(said, ElementsAre("response.created", "response.in_progress",
                                "response.function_call_arguments.delta",
                                "response.function_call_arguments.done",
                                "response.custom_tool_call_input.delta",
                                "response.custom_tool_call_input.done", ""));
}

}  // namespace
}  // namespace weft
