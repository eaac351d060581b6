#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/messages/messages_api.h"
#include "weft/net/api/tools/call_id.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/tool_model.h"
#include "weft/tests/net/api/written_events.h"

namespace weft::test {
namespace {

using testing::ElementsAre;

MessageOptions message_options(bool stream) {
  return {.id = "msg_1",
          .model = "demo",
          .service_tier = "standard",
          .max_tokens = 3,
          .stream = stream};
}

/// A byte model with room for so many tokens.
std::shared_ptr<const ServedModel> model_of_context(std::int64_t context) {
  ServedModel model = *byte_model();
  model.context = context;
  return std::make_shared<const ServedModel>(std::move(model));
}

constexpr std::string_view kUsage =
    R"("usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,)";

std::vector<std::string> names_and_data(const EventBatch& batch) {
  std::vector<std::string> lines;
  for (const WrittenEvent& event : events_of(batch)) {
    EXPECT_EQ(json_of(event.data).at("type").as_string(), event.name);
    lines.push_back(event.data);
  }
  return lines;
}

TEST(MessageWriterTest, APingIsAnEventOnceTheMessageHasBegun) {
  const auto writer = make_message_writer(message_options(true), model_of_context(100));
  EventBatch out(Framing::kSse);
  writer->ping(out);
  EXPECT_EQ(out.bytes(), ": ping\n\n") << "the first event is message_start";
  out.clear();
  writer->begin(out);
  out.clear();
  writer->ping(out);
  EXPECT_EQ(out.bytes(), "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

TEST(MessageWriterTest, StreamsAMessageOfOneBlock) {
  const auto writer = make_message_writer(message_options(true), model_of_context(100));
  EventBatch out(Framing::kSse);
  writer->admit(0, 5);
  writer->begin(out);
  writer->delta(0, text_delta("Hel\"lo"), out);
  Delta half;
  half.tokens = {0xE2};  // a part of a character
  writer->delta(0, half, out);
  writer->delta(0, text_delta("\n"), out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  EXPECT_THAT(
      names_and_data(out),
      ElementsAre(
          R"({"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",)"
          R"("model":"demo","content":[],"stop_reason":null,"stop_sequence":null,)" +
              std::string(kUsage) + R"("output_tokens":0,"service_tier":"standard"}}})",
          R"({"type":"ping"})",
          R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta",)"
          R"("text":"Hel\"lo"}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\n"}})",
          R"({"type":"content_block_stop","index":0})",
          R"({"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},)" +
              std::string(kUsage) + R"("output_tokens":3}})",
          R"({"type":"message_stop"})"));
}

TEST(MessageWriterTest, AnOutputWithoutTextHasNoBlock) {
  const auto writer = make_message_writer(message_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->begin(out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  std::vector<std::string> names;
  for (const WrittenEvent& event : events_of(out)) names.push_back(event.name);
  EXPECT_THAT(names, ElementsAre("message_start", "ping", "message_delta", "message_stop"));
  const auto plain = make_message_writer(message_options(false), byte_model());
  EventBatch body(Framing::kBody);
  plain->begin(body);
  plain->end(std::vector{finish_of(FinishReason::kStop)}, body);
  EXPECT_TRUE(json_of(body.bytes()).at("content").as_array().empty());
}

TEST(MessageWriterTest, AnswersWithOneMessage) {
  const auto writer = make_message_writer(message_options(false), model_of_context(100));
  EventBatch out(Framing::kBody);
  writer->admit(0, 5);
  writer->begin(out);
  writer->delta(0, text_delta("Hel"), out);
  writer->delta(0, text_delta("lo"), out);
  EXPECT_TRUE(out.empty()) << "nothing before the end";
  writer->end(std::vector{finish_of(FinishReason::kLength)}, out);
  EXPECT_EQ(out.bytes(),
            R"({"id":"msg_1","type":"message","role":"assistant","model":"demo","content":[)"
            R"({"type":"text","text":"Hello"}],"stop_reason":"max_tokens","stop_sequence":null,)" +
                std::string(kUsage) + R"("output_tokens":3,"service_tier":"standard"}})");
}

TEST(MessageWriterTest, SaysWhatEndedIt) {
  const auto end_of = [](ChoiceEnd end, std::int64_t context = 100) {
    const auto writer = make_message_writer(message_options(false), model_of_context(context));
    EventBatch out(Framing::kBody);
    Finish finish = finish_of(end.reason);
    finish.choices = {std::move(end)};
    writer->end(std::vector{finish}, out);
    const auto message = json_of(out.bytes());
    return boost::json::serialize(message.at("stop_reason")) + " " +
           boost::json::serialize(message.at("stop_sequence"));
  };
  EXPECT_EQ(end_of({.stop = "END"}), R"("stop_sequence" "END")");
  EXPECT_EQ(end_of({.stop_token = kByteModelEnd}), R"("end_turn" null)");
  EXPECT_EQ(end_of({.reason = FinishReason::kLength}), R"("max_tokens" null)");
  // The prompt has 5 tokens, and the output may have 3.
  EXPECT_EQ(end_of({.reason = FinishReason::kLength}, 8), R"("max_tokens" null)");
  EXPECT_EQ(end_of({.reason = FinishReason::kLength}, 7),
            R"("model_context_window_exceeded" null)");
}

using enum PieceKind;

TEST(MessageWriterTest, ThoughtsTextAndCallsAreBlocks) {
  const auto writer = make_message_writer(message_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, typed_delta({{kReasoning, "h"}}), out);
  writer->delta(0, typed_delta({{kReasoning, "m"}, {kText, "a"}, {kCallName, "look"}}), out);
  writer->delta(0, typed_delta({{kArguments, "{\"x\""}}), out);
  writer->delta(0, typed_delta({{kArguments, ":1}"}, {kCallEnd, ""}, {kCallName, "see"}}), out);
  writer->delta(0, typed_delta({{kCallEnd, ""}, {kText, "b"}}), out);
  const auto start = [](int index, std::string_view block) {
    return R"({"type":"content_block_start","index":)" + std::to_string(index) +
           R"(,"content_block":)" + std::string(block) + "}";
  };
  const auto delta = [](int index, std::string_view what) {
    return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" +
           std::string(what) + "}";
  };
  const auto stop = [](int index) {
    return R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}";
  };
  const auto call = [](std::size_t number, std::string_view name) {
    return R"({"type":"tool_use","id":")" + call_id("msg_1", 0, number) + R"(","name":")" +
           std::string(name) + R"(","input":{}})";
  };
  EXPECT_THAT(
      names_and_data(out),
      ElementsAre(start(0, R"({"type":"thinking","thinking":"","signature":""})"),
                  delta(0, R"({"type":"thinking_delta","thinking":"h"})"),
                  delta(0, R"({"type":"thinking_delta","thinking":"m"})"), stop(0),
                  start(1, R"({"type":"text","text":""})"),
                  delta(1, R"({"type":"text_delta","text":"a"})"), stop(1),
                  start(2, call(0, "look")),
                  delta(2, R"({"type":"input_json_delta","partial_json":"{\"x\""})"),
                  delta(2, R"({"type":"input_json_delta","partial_json":":1}"})"), stop(2),
                  start(3, call(1, "see")), stop(3), start(4, R"({"type":"text","text":""})"),
                  delta(4, R"({"type":"text_delta","text":"b"})")));
}

std::string message_content(MessageOptions options, const Delta& delta, ChoiceEnd end,
                            std::string* reason = nullptr) {
  const auto writer = make_message_writer(std::move(options), model_of_context(100));
  EventBatch out(Framing::kBody);
  writer->delta(0, delta, out);
  Finish finish = finish_of(end.reason);
  finish.choices = {std::move(end)};
  writer->end(std::vector{finish}, out);
  const auto message = json_of(out.bytes());
  if (reason != nullptr) *reason = message.at("stop_reason").as_string();
  return boost::json::serialize(message.at("content"));
}

TEST(MessageWriterTest, AMessageHasItsThoughtsAndCalls) {
  const Delta delta = typed_delta({{kReasoning, "hm"},
                                   {kText, "a"},
                                   {kCallName, "look"},
                                   {kArguments, "{\"x\": 1}"},
                                   {kCallEnd, ""}});
  const std::string call = R"({"type":"tool_use","id":")" + call_id("msg_1", 0, 0) +
                           R"(","name":"look","input":{"x":1}})";
  std::string reason;
  EXPECT_EQ(message_content(message_options(false), delta, {.calls = 1}, &reason),
            R"([{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"a"},)" +
                call + "]");
  EXPECT_EQ(reason, "tool_use");
  MessageOptions silent = message_options(false);
  silent.show_thinking = false;
  EXPECT_EQ(message_content(silent, delta, {.reason = FinishReason::kLength, .calls = 1}, &reason),
            R"([{"type":"text","text":"a"},)" + call + "]");
  EXPECT_EQ(reason, "max_tokens") << "of an output that was cut the last call may lack its end";
}

TEST(MessageWriterTest, ArgumentsThatAreNoObjectStandInOne) {
  const auto input = [](std::string_view arguments) {
    const auto content = json_of(message_content(
        message_options(false),
        typed_delta({{kCallName, "f"}, {kArguments, arguments}, {kCallEnd, ""}}), {.calls = 1}));
    return boost::json::serialize(content.at(0).at("input"));
  };
  EXPECT_EQ(input(""), "{}");
  EXPECT_EQ(input(R"({"b":1,"a":[]})"), R"({"b":1,"a":[]})");
  EXPECT_EQ(input(R"({"b":)"), R"({"INVALID_JSON":"{\"b\":"})");
  EXPECT_EQ(input("[1]"), R"({"INVALID_JSON":"[1]"})");
}

TEST(MessageWriterTest, ThoughtsThatAreNotWantedAreLeftOutOfAStreamToo) {
  MessageOptions silent = message_options(true);
  silent.show_thinking = false;
  const auto writer = make_message_writer(silent, byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, typed_delta({{kReasoning, "hm"}, {kText, "a"}}), out);
  const auto data = names_and_data(out);
  ASSERT_EQ(data.size(), 2U);
  EXPECT_EQ(
      data.front(),
      R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
}

TEST(MessageWriterTest, ThoughtsAreCounted) {
  const auto writer = make_message_writer(message_options(false), byte_model());
  EventBatch out(Framing::kBody);
  Finish finish = finish_of(FinishReason::kStop, {5, 3});
  finish.usage.reasoning_tokens = 2;
  writer->end(std::vector{finish}, out);
  EXPECT_EQ(json_of(out.bytes()).at("usage").at("output_tokens_details"),
            json_of(R"({"thinking_tokens":2})"));
}

TEST(MessageWriterTest, AStreamsFailureIsAnEvent) {
  const auto writer = make_message_writer(message_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->fail({.status = 503, .message = "gone"}, {}, out);
  EXPECT_EQ(out.bytes(),
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
            "\"message\":\"gone\"}}\n\n");
  const auto plain = make_message_writer(message_options(false), byte_model());
  EventBatch body(Framing::kBody);
  plain->fail({.status = 503, .message = "gone"}, {}, body);
  EXPECT_TRUE(body.empty()) << "its status says it";
}

TEST(MessageWriterTest, SaysThatNoEditOfTheContextWasMade) {
  for (const bool stream : {false, true}) {
    for (const bool asked : {false, true}) {
      MessageOptions options = message_options(stream);
      options.tells_edits = asked;
      const auto writer = make_message_writer(options, model_of_context(100));
      EventBatch out(stream ? Framing::kSse : Framing::kBody);
      writer->admit(0, 5);
      writer->begin(out);
      writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
      const std::string told =
          R"("output_tokens":3})" +
          std::string(asked ? R"(,"context_management":{"applied_edits":[]})" : "") + "}";
      const std::string tier =
          R"("output_tokens":3,"service_tier":"standard"})" +
          std::string(asked ? R"(,"context_management":{"applied_edits":[]})" : "") + "}";
      EXPECT_NE(out.bytes().find(stream ? told : tier), std::string_view::npos) << out.bytes();
    }
  }
}

}  // namespace
}  // namespace weft::test
