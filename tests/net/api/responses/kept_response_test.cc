#include "weft/net/api/responses/kept_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <vector>

#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/tools/tool_origin.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/responses/response_options.h"
#include "weft/tests/net/api/tool_model.h"
#include "weft/tests/net/api/written_events.h"

namespace weft {
namespace {

using test::byte_model;
using test::events_of;
using test::finish_of;
using test::json_of;
using test::response_options;
using test::text_delta;
using testing::ElementsAre;
using testing::IsEmpty;

/// A stream's events, and the kept response.
struct KeptStream {
  EventBatch live{Framing::kSse};
  std::shared_ptr<const StoredResponse> kept{};
};

/// A response of one delta, so that its replay is the same.
KeptStream stream_of(ResponseOptions options, FinishReason reason) {
  KeptStream result;
  const auto store = std::make_shared<ResponseStore>(ResponseStore::Bounds{4, 1U << 20U});
  options.store = store;
  options.owner = "me";
  const bool generate = options.generate;
  const auto writer = make_response_writer(std::move(options), byte_model(), Framing::kSse);
  writer->begin(result.live);
  if (generate) {
    Delta delta = text_delta("Hel\"lo\n");
    delta.logprobs.assign(delta.tokens.size(), -0.3F);
    writer->delta(0, delta, result.live);
  }
  std::vector<Finish> parts;
  parts.push_back(finish_of(reason));
  writer->end(parts, result.live);
  result.kept = store->find("resp_1", "me");
  return result;
}

void expect_replayed(ResponseOptions options, FinishReason reason = FinishReason::kStop) {
  const KeptStream stream = stream_of(std::move(options), reason);
  ASSERT_NE(stream.kept, nullptr);
  EventBatch replay(Framing::kSse);
  replay.text() = replay_events(*stream.kept);
  const auto live = events_of(stream.live);
  const auto again = events_of(replay);
  ASSERT_EQ(live.size(), again.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    EXPECT_EQ(live[i].name, again[i].name);
    if (live[i].data == "[DONE]") {
      EXPECT_EQ(again[i].data, "[DONE]");
    } else {
      EXPECT_EQ(json_of(live[i].data), json_of(again[i].data)) << live[i].name;
    }
  }
}

TEST(KeptResponseTest, ThoughtsAndCallsAreItemsOfTheReplayToo) {
  const auto store = std::make_shared<ResponseStore>(ResponseStore::Bounds{4, 1U << 20U});
  ResponseOptions options = response_options();
  options.store = store;
  const auto writer = make_response_writer(std::move(options), byte_model(), Framing::kSse);
  EventBatch live(Framing::kSse);
  writer->begin(live);
  writer->delta(0, test::typed_delta(), live);
  writer->delta(0, test::call_end_delta(), live);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, live);
  const auto kept = store->find("resp_1", "");
  ASSERT_NE(kept, nullptr);
  EventBatch replay(Framing::kSse);
  replay.text() = replay_events(*kept);
  // The arguments came in two deltas, and come again in one.
  const auto events = events_of(live);
  const auto again = events_of(replay);
  ASSERT_EQ(events.size(), again.size() + 1);
  EXPECT_EQ(json_of(events[events.size() - 2].data).at("response"),
            json_of(again[again.size() - 2].data).at("response"));
  std::vector<std::string> added;
  for (const auto& event : again) {
    if (event.name == "response.output_item.done") {
      added.emplace_back(json_of(event.data).at("item").at("type").as_string());
    }
  }
  EXPECT_THAT(added, ElementsAre("reasoning", "message", "function_call"));
  EXPECT_EQ(kept->conversation.back().at("tool_calls").at(0).at("function").at("arguments"),
            boost::json::value({{"a", 1}}));
}

TEST(KeptResponseTest, IsReplayedAsItWasStreamed) {
  expect_replayed(response_options());
  expect_replayed(response_options(), FinishReason::kLength);
  ResponseOptions with_logprobs = response_options();
  with_logprobs.logprobs = true;
  expect_replayed(std::move(with_logprobs));
}

TEST(KeptResponseTest, WithoutAnAnswerIsReplayedWithoutOne) {
  ResponseOptions options = response_options();
  options.generate = false;
  expect_replayed(std::move(options));
}

/// The texts of a page of the items.
std::vector<std::string> texts_of(const StoredResponse& response, const InputItemsPage& page) {
  std::vector<std::string> texts;
  const auto list = input_items(response, page);
  if (!list) return {list.error().param + " " + list.error().code};
  const auto body = json_of(*list);
  for (const auto& item : body.at("data").as_array()) {
    texts.emplace_back(item.at("content").at(0).at("text").as_string().c_str());
  }
  return texts;
}

StoredResponse conversation_of(std::size_t turns) {
  StoredResponse response;
  response.id = "resp_7";
  for (std::size_t i = 0; i < turns; ++i) {
    response.conversation.push_back(boost::json::object{{"role", i % 2 == 0 ? "user" : "assistant"},
                                                        {"content", std::to_string(i)}});
  }
  return response;
}

TEST(KeptResponseTest, InputItemsAreTheMessagesWithoutTheAnswer) {
  StoredResponse response = conversation_of(2);
  response.answered = true;
  EXPECT_EQ(
      json_of(input_items(response, {}).value()),
      json_of(R"({"object":"list","first_id":"msg_7_i0","last_id":"msg_7_i0","has_more":false,)"
              R"("data":[{"type":"message","id":"msg_7_i0","status":"completed",)"
              R"("role":"user","content":[{"type":"input_text","text":"0"}]}]})"));
  response.answered = false;
  EXPECT_THAT(texts_of(response, {}), ElementsAre("1", "0")) << "the newest first";
  EXPECT_THAT(texts_of(response, {.ascending = true}), ElementsAre("0", "1"));
}

TEST(KeptResponseTest, InputItemsComeInPages) {
  const StoredResponse response = conversation_of(5);
  EXPECT_THAT(texts_of(response, {.limit = 2}), ElementsAre("4", "3"));
  EXPECT_THAT(texts_of(response, {.limit = 2, .after = "msg_7_i3"}), ElementsAre("2", "1"));
  EXPECT_THAT(texts_of(response, {.ascending = true, .after = "msg_7_i3"}), ElementsAre("4"));
  EXPECT_THAT(texts_of(response, {.after = "msg_7_i0"}), IsEmpty());
  EXPECT_THAT(texts_of(response, {.after = "msg_8_i0"}), ElementsAre("after invalid_value"));
  EXPECT_EQ(json_of(input_items(response, {.limit = 4}).value()).at("has_more"), true);
  EXPECT_EQ(json_of(input_items(response, {.limit = 5}).value()).at("has_more"), false);
  EXPECT_EQ(json_of(input_items(response, {.after = "msg_7_i0"}).value()).at("first_id"), nullptr);
}

TEST(KeptResponseTest, ItemsOfInputAndOutputHaveIdsOfTheirOwn) {
  StoredResponse response = conversation_of(2);
  response.answered = true;
  response.object = R"({"output":[{"type":"message","id":"msg_7","content":[]},)"
                    R"({"type":"message","id":"msg_7_1","content":[]}]})";
  const auto items = items_by_id(response);
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(json_of(items.at("msg_7_i0")).at("role"), "user");
  EXPECT_EQ(json_of(items.at("msg_7_1")).at("id"), "msg_7_1");
}

TEST(KeptResponseTest, CallsOfAgentsToolsAreKeptAsTheClientNamesThem) {
  const auto store = std::make_shared<ResponseStore>(ResponseStore::Bounds{4, 1U << 20U});
  ToolOrigins tools;
  tools.add("calc__add", {ToolKind::kFunction, "calc", "add"});
  tools.add("patch", {ToolKind::kCustom, {}, "patch"});
  ResponseOptions options = response_options();
  options.store = store;
  options.tools = std::make_shared<const ToolOrigins>(std::move(tools));
  const auto writer = make_response_writer(std::move(options), byte_model(), Framing::kSse);
  EventBatch live(Framing::kSse);
  writer->begin(live);
  writer->delta(0,
                test::typed_delta({{PieceKind::kCallName, "calc__add"},
                                   {PieceKind::kArguments, "{}"},
                                   {PieceKind::kCallEnd, ""},
                                   {PieceKind::kCallName, "patch"},
                                   {PieceKind::kArguments, R"({"input":"x"})"},
                                   {PieceKind::kCallEnd, ""}}),
                live);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, live);
  const auto kept = store->find("resp_1", "");
  ASSERT_NE(kept, nullptr);
  EventBatch replay(Framing::kSse);
  replay.text() = replay_events(*kept);
  const auto events = events_of(live);
  const auto again = events_of(replay);
  ASSERT_EQ(events.size(), again.size());
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].data, again[i].data);

  StoredResponse continued = *kept;  // now its answer belongs to the items before it
  continued.answered = false;
  const auto items = json_of(input_items(continued, {.ascending = true}).value()).at("data");
  EXPECT_EQ(items.at(1).at("namespace"), "calc");
  EXPECT_EQ(items.at(1).at("name"), "add");
  EXPECT_EQ(items.at(2).at("type"), "custom_tool_call");
  EXPECT_EQ(items.at(2).at("input"), "x");
}

}  // namespace
}  // namespace weft
