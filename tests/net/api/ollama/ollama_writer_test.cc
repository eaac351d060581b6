#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "weft/net/api/ollama/ollama_api.h"
#include "weft/net/api/tools/call_id.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/tool_model.h"
#include "weft/tests/net/api/written_events.h"

namespace weft::test {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;

OllamaOptions ollama_options(bool chat, bool stream) {
  return {.id = "ollama-1",
          .model = "demo:latest",
          .created_at = "2026-01-01T00:00:00Z",
          .chat = chat,
          .stream = stream};
}

std::string object_of(std::string_view rest) {
  return R"({"model":"demo:latest","created_at":"2026-01-01T00:00:00Z",)" + std::string(rest) + "}";
}

Finish timed_finish(FinishReason reason) {
  Finish finish = finish_of(reason);
  const auto at = [](int ns) { return TimePoint(nanoseconds(ns)); };
  finish.times = {.arrived = at(100),
                  .queued = at(101),
                  .started = at(110),
                  .first_token = at(130),
                  .ended = at(170)};
  return finish;
}

constexpr std::string_view kTimes =
    R"("total_duration":70,"load_duration":10,"prompt_eval_count":5,"prompt_eval_duration":20,)"
    R"("eval_count":3,"eval_duration":40)";

TEST(OllamaWriterTest, StreamsAMessageInLines) {
  const auto writer = make_ollama_writer(ollama_options(true, true), byte_model());
  EventBatch out(Framing::kLines);
  writer->begin(out);
  writer->delta(0, text_delta("Hel\"lo"), out);
  Delta half;
  half.tokens = {0xE2};  // a part of a character
  writer->delta(0, half, out);
  writer->delta(0, text_delta("\n"), out);
  writer->end(std::vector{timed_finish(FinishReason::kStop)}, out);
  const auto piece = [](std::string_view text) {
    return object_of(R"("message":{"role":"assistant","content":")" + std::string(text) +
                     R"("},"done":false)");
  };
  EXPECT_THAT(data_of(out),
              ElementsAre(piece(R"(Hel\"lo)"), piece(R"(\n)"),
                          object_of(R"("message":{"role":"assistant","content":""},"done":true,)"
                                    R"("done_reason":"stop",)" +
                                    std::string(kTimes))));
}

TEST(OllamaWriterTest, AnswersWithOneObject) {
  const auto writer = make_ollama_writer(ollama_options(false, false), byte_model());
  EventBatch out(Framing::kBody);
  writer->begin(out);
  writer->delta(0, text_delta("Hel"), out);
  writer->delta(0, text_delta("lo"), out);
  EXPECT_TRUE(out.empty()) << "nothing before the end";
  writer->end(std::vector{timed_finish(FinishReason::kLength)}, out);
  EXPECT_EQ(out.bytes(), object_of(R"("response":"Hello","done":true,"done_reason":"length",)" +
                                   std::string(kTimes)));
}

TEST(OllamaWriterTest, APingIsAnObjectWithoutText) {
  for (const bool chat : {true, false}) {
    const auto writer = make_ollama_writer(ollama_options(chat, true), byte_model());
    EventBatch out(Framing::kLines);
    writer->ping(out);
    const std::string_view text =
        chat ? R"("message":{"role":"assistant","content":""})" : R"("response":"")";
    EXPECT_EQ(out.bytes(), object_of(std::string(text) + ",\"done\":false") + "\n");
  }
}

TEST(OllamaWriterTest, LogprobsStandBesideTheirText) {
  OllamaOptions options = ollama_options(false, true);
  options.logprobs = true;
  const auto writer = make_ollama_writer(options, byte_model());
  EventBatch out(Framing::kLines);
  Delta delta = text_delta("ab");
  delta.logprobs = {-0.5F, -1.5F};
  writer->delta(0, delta, out);
  EXPECT_THAT(data_of(out),
              ElementsAre(object_of(
                  R"("response":"ab","logprobs":[)"
                  R"({"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[]},)"
                  R"({"token":"b","logprob":-1.5,"bytes":[98],"top_logprobs":[]}],"done":false)")));
  out.clear();
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  EXPECT_FALSE(json_of(out.bytes()).as_object().contains("logprobs")) << "they were said";
}

using enum PieceKind;

/// Returns the messages' texts in a chat's objects.
std::vector<std::string> messages_of(const EventBatch& out) {
  std::vector<std::string> messages;
  for (const std::string& data : data_of(out)) {
    messages.push_back(boost::json::serialize(json_of(data).at("message")));
  }
  return messages;
}

std::string call_in(std::size_t number, std::string_view name, std::string_view arguments) {
  return R"({"id":")" + call_id("ollama-1", 0, number) + R"(","function":{"index":)" +
         std::to_string(number) + R"(,"name":")" + std::string(name) + R"(","arguments":)" +
         std::string(arguments) + "}}";
}

TEST(OllamaWriterTest, ThoughtsStandBesideTheTextAndCallsComeWhole) {
  const auto writer = make_ollama_writer(ollama_options(true, true), byte_model());
  EventBatch out(Framing::kLines);
  writer->delta(0, typed_delta({{kReasoning, "hm"}}), out);
  writer->delta(0, typed_delta({{kText, "a"}, {kCallName, "look"}, {kArguments, "{\"x\""}}), out);
  writer->delta(0, typed_delta({{kArguments, ":"}}), out);
  writer->delta(0, typed_delta({{kArguments, "1}"}, {kCallEnd, ""}, {kCallName, "see"}}), out);
  writer->delta(0, typed_delta({{kArguments, "{\"y"}}), out);
  writer->end(std::vector{finish_of(FinishReason::kLength)}, out);
  const std::string begin = R"({"role":"assistant","content":)";
  EXPECT_THAT(messages_of(out),
              ElementsAre(begin + R"("","thinking":"hm"})", begin + R"("a"})",
                          begin + R"("","tool_calls":[)" + call_in(0, "look", R"({"x":1})") + "]}",
                          begin + R"("","tool_calls":[)" +
                              call_in(1, "see", R"({"INVALID_JSON":"{\"y"})") + "]}"))
      << "the last call was cut off";
}

TEST(OllamaWriterTest, AnObjectHasItsThoughtsAndCalls) {
  const Delta delta = typed_delta({{kReasoning, "hm"},
                                   {kText, "a"},
                                   {kCallName, "look"},
                                   {kArguments, "{}"},
                                   {kCallEnd, ""},
                                   {kCallName, "see"},
                                   {kCallEnd, ""}});
  const auto writer = make_ollama_writer(ollama_options(true, false), byte_model());
  EventBatch out(Framing::kBody);
  writer->delta(0, delta, out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  EXPECT_THAT(messages_of(out),
              ElementsAre(R"({"role":"assistant","content":"a","thinking":"hm","tool_calls":[)" +
                          call_in(0, "look", "{}") + "," + call_in(1, "see", "{}") + "]}"));
  const auto generate = make_ollama_writer(ollama_options(false, false), byte_model());
  EventBatch text(Framing::kBody);
  generate->delta(0, typed_delta({{kReasoning, "hm"}, {kText, "a"}}), text);
  generate->end(std::vector{finish_of(FinishReason::kStop)}, text);
  EXPECT_EQ(json_of(text.bytes()).at("thinking"), "hm");
  EXPECT_EQ(json_of(text.bytes()).at("response"), "a");
}

TEST(OllamaWriterTest, APartlyTimedEndHasNoTimeThatNeverWas) {
  const auto writer = make_ollama_writer(ollama_options(false, false), byte_model());
  EventBatch out(Framing::kBody);
  Finish finish = timed_finish(FinishReason::kStop);
  finish.times.first_token = {};
  writer->end(std::vector{finish}, out);
  EXPECT_EQ(json_of(out.bytes()).at("prompt_eval_duration"), 0);
  EXPECT_EQ(json_of(out.bytes()).at("eval_duration"), 0);
  EXPECT_EQ(json_of(out.bytes()).at("total_duration"), 70);
}

TEST(OllamaWriterTest, WithoutAnOutputItSaysThatTheModelIsThere) {
  OllamaOptions options = ollama_options(true, true);
  options.done_reason = "load";
  const auto writer = make_ollama_writer(options, byte_model());
  EventBatch out(Framing::kLines);
  writer->begin(out);
  writer->end({}, out);
  EXPECT_THAT(data_of(out),
              ElementsAre(object_of(R"("message":{"role":"assistant","content":""},"done":true,)"
                                    R"("done_reason":"load")")));
}

TEST(OllamaWriterTest, AStreamsFailureIsItsLastLine) {
  const auto writer = make_ollama_writer(ollama_options(true, true), byte_model());
  EventBatch out(Framing::kLines);
  writer->fail({.status = 503, .message = "gone"}, {}, out);
  EXPECT_EQ(out.bytes(), "{\"error\":\"gone\"}\n");
  const auto plain = make_ollama_writer(ollama_options(true, false), byte_model());
  EventBatch body(Framing::kBody);
  plain->fail({.status = 503, .message = "gone"}, {}, body);
  EXPECT_TRUE(body.empty()) << "its status says it";
}

}  // namespace
}  // namespace weft::test
