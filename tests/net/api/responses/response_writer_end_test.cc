// How responses end: incomplete, failed, or before they began; and which parts of them are stored.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/net/api/responses/response_api.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/responses/response_options.h"
#include "weft/tests/net/api/written_events.h"

namespace weft {
namespace {

using test::byte_model;
using test::data_of;
using test::events_of;
using test::finish_of;
using test::json_of;
using test::response_options;
using test::text_delta;
using testing::ElementsAre;

const ApiError cancelled{.status = 499, .code = "cancelled", .message = "it was cancelled"};
const ApiError broken{.status = 500, .type = "server_error", .message = "it broke"};

std::shared_ptr<ResponseStore> roomy_store() {
  return std::make_shared<ResponseStore>(ResponseStore::Bounds{.count = 8, .bytes = 1'000'000});
}

void put(ResponseStore& store, std::string id) {
  StoredResponse response;
  response.id = std::move(id);
  store.put(std::move(response));
}

std::vector<std::string> names_of(const EventBatch& out) {
  std::vector<std::string> names;
  for (const test::WrittenEvent& event : events_of(out)) names.push_back(event.name);
  return names;
}

/// Returns the last event's response, after a begin and a text.
template <class End>
boost::json::value ended_response(const ResponseOptions& options, std::string_view text,
                                  End&& end) {
  const auto writer = make_response_writer(options, byte_model(), Framing::kWebSocket);
  EventBatch out(Framing::kWebSocket);
  writer->begin(out);
  if (!text.empty()) writer->delta(0, text_delta(text), out);
  end(*writer, out);
  boost::json::value last = json_of(data_of(out).back());
  const std::string status(last.at("response").at("status").as_string());
  EXPECT_EQ(last.at("type").as_string(), "response." + status);
  return last.at("response");
}

TEST(ResponseWriterEndTest, IsIncompleteAtItsMostTokens) {
  const auto response =
      ended_response(response_options(), "Hel", [](ReplyWriter& writer, EventBatch& out) {
        writer.end(std::vector{finish_of(FinishReason::kLength)}, out);
      });
  EXPECT_EQ(response.at("status"), "incomplete");
  EXPECT_EQ(response.at("incomplete_details"), json_of(R"({"reason":"max_output_tokens"})"));
  EXPECT_EQ(response.at("output").at(0).at("status"), "incomplete");
  EXPECT_EQ(response.at("output").at(0).at("content").at(0).at("text"), "Hel");
  EXPECT_EQ(response.at("usage").at("total_tokens"), 8);
  EXPECT_TRUE(response.at("completed_at").is_null());
}

TEST(ResponseWriterEndTest, IsIncompleteWhenItsClientStoppedIt) {
  const auto by_failure = [](ReplyWriter& writer, EventBatch& out) {
    writer.fail(cancelled, std::vector{finish_of(FinishReason::kCancelled)}, out);
  };
  const auto by_end = [](ReplyWriter& writer, EventBatch& out) {
    writer.end(std::vector{finish_of(FinishReason::kCancelled)}, out);
  };
  const auto response = ended_response(response_options(), "Hel", by_failure);
  EXPECT_EQ(response.at("status"), "incomplete");
  EXPECT_EQ(response.at("incomplete_details"), json_of(R"({"reason":"cancelled"})"));
  EXPECT_TRUE(response.at("error").is_null());
  EXPECT_EQ(response.at("output").at(0).at("content").at(0).at("text"), "Hel");
  EXPECT_EQ(response, ended_response(response_options(), "Hel", by_end));
}

TEST(ResponseWriterEndTest, FailsWithWhatThereWas) {
  const auto fail = [](ReplyWriter& writer, EventBatch& out) {
    writer.fail(broken, std::vector{finish_of(FinishReason::kError)}, out);
  };
  const auto response = ended_response(response_options(), "Hel", fail);
  EXPECT_EQ(response.at("status"), "failed");
  EXPECT_EQ(response.at("error"), json_of(R"({"code":"server_error","message":"it broke"})"));
  EXPECT_EQ(response.at("output").at(0).at("status"), "incomplete");
  EXPECT_EQ(response.at("output").at(0).at("content").at(0).at("text"), "Hel");
  EXPECT_EQ(response.at("usage").at("total_tokens"), 8);
  const auto none = ended_response(response_options(), "", fail);
  EXPECT_EQ(none.at("output"), json_of("[]"));
}

TEST(ResponseWriterEndTest, FailsOnceAndWithNothingAfter) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  writer->begin(out);
  writer->fail(broken, {}, out);
  EXPECT_THAT(names_of(out),
              ElementsAre("response.created", "response.in_progress", "response.failed", ""));
  EXPECT_TRUE(json_of(data_of(out)[2]).at("response").at("usage").is_null());
}

TEST(ResponseWriterEndTest, IsOneErrorEventWhenItNeverBegan) {
  const ApiError error{.status = 429,
                       .type = "rate_limit_error",
                       .code = "overloaded",
                       .param = "",
                       .message = "full"};
  const auto messages = make_response_writer(response_options(), byte_model(), Framing::kWebSocket);
  EventBatch out(Framing::kWebSocket);
  messages->fail(error, {}, out);
  EXPECT_THAT(data_of(out),
              ElementsAre(R"({"type":"error","status":429,"error":{"message":"full",)"
                          R"("type":"rate_limit_error","param":null,"code":"overloaded"}})"));

  const auto events = make_response_writer(response_options(), byte_model(), Framing::kSse);
  EventBatch sse(Framing::kSse);
  events->fail(error, {}, sse);
  EXPECT_THAT(data_of(sse), ElementsAre(R"({"type":"error","code":"overloaded","param":null,)"
                                        R"("sequence_number":0,"message":"full"})",
                                        "[DONE]"));
  EXPECT_THAT(names_of(sse), ElementsAre("error", ""));

  const auto plain = make_response_writer(response_options(), byte_model(), Framing::kBody);
  EventBatch body(Framing::kBody);
  plain->fail(error, {}, body);
  EXPECT_TRUE(body.empty()) << "it is the error's own status and body";
}

TEST(ResponseWriterEndTest, IsIncompleteWhenItsClientStoppedItBeforeItBegan) {
  const auto writer = make_response_writer(response_options(), byte_model(), Framing::kWebSocket);
  EventBatch out(Framing::kWebSocket);
  writer->fail(cancelled, {}, out);
  const auto events = data_of(out);
  EXPECT_EQ(json_of(events.front()).at("type"), "response.created");
  EXPECT_EQ(json_of(events.back()).at("type"), "response.incomplete");
}

TEST(ResponseWriterEndTest, EndsAPlainAnswerThatItsClientStoppedInTheSameWay) {
  const auto answer = [](auto&& end) {
    const auto writer = make_response_writer(response_options(), byte_model(), Framing::kBody);
    EventBatch out(Framing::kBody);
    writer->begin(out);
    writer->delta(0, text_delta("Hel"), out);
    end(*writer, out);
    return out.empty() ? boost::json::value() : json_of(data_of(out).front());
  };
  const auto fail = [](ReplyWriter& writer, EventBatch& out) { writer.fail(broken, {}, out); };
  const auto cancel = [](ReplyWriter& writer, EventBatch& out) { writer.fail(cancelled, {}, out); };
  EXPECT_EQ(answer(fail), nullptr) << "it is the error's own status and body";
  EXPECT_EQ(answer(cancel), ended_response(response_options(), "Hel", cancel));
}

TEST(ResponseWriterEndTest, KeepsTheConversationWithTheAnswer) {
  for (const Framing framing : {Framing::kBody, Framing::kSse}) {
    ResponseOptions options = response_options();
    options.store = roomy_store();
    const auto writer = make_response_writer(options, byte_model(), framing);
    EventBatch out(framing);
    writer->begin(out);
    writer->delta(0, text_delta("Hel"), out);
    writer->delta(0, text_delta("lo"), out);
    EXPECT_EQ(options.store->count(), 0);
    writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
    const auto kept = options.store->find("resp_1", "");
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->conversation, json_of(R"([{"role":"user","content":"Hi"},)"
                                          R"({"role":"assistant","content":"Hello"}])"));
    const auto data = data_of(out);
    if (framing == Framing::kBody) {
      EXPECT_EQ(kept->object, data.front());
    } else {
      EXPECT_EQ(json_of(kept->object), json_of(data[data.size() - 2]).at("response"));
    }
  }
}

TEST(ResponseWriterEndTest, KeepsOneThatIsIncompleteAndNoneThatFailed) {
  ResponseOptions options = response_options();
  options.store = roomy_store();
  ended_response(options, "Hel",
                 [](ReplyWriter& writer, EventBatch& out) { writer.fail(broken, {}, out); });
  EXPECT_EQ(options.store->count(), 0);
  ended_response(options, "Hel",
                 [](ReplyWriter& writer, EventBatch& out) { writer.fail(cancelled, {}, out); });
  EXPECT_NE(options.store->find("resp_1", ""), nullptr);
}

TEST(ResponseWriterEndTest, ForgetsWhatItContinuedWhenItFails) {
  const auto left = [](bool begin, const ApiError& error) {
    ResponseOptions options = response_options();
    options.previous_id = "resp_0";
    options.local = roomy_store();
    options.store = options.local;
    put(*options.local, "resp_0");
    put(*options.local, "resp_other");
    const auto writer = make_response_writer(options, byte_model(), Framing::kWebSocket);
    EventBatch out(Framing::kWebSocket);
    if (begin) writer->begin(out);
    writer->fail(error, {}, out);
    EXPECT_NE(options.local->find("resp_other", ""), nullptr);
    return options.local->find("resp_0", "") != nullptr;
  };
  EXPECT_FALSE(left(true, broken));
  EXPECT_FALSE(left(false, broken));
  EXPECT_TRUE(left(true, cancelled)) << "stopped is not failed";
}

TEST(ResponseWriterEndTest, CompletesWithoutOutputWhenNothingIsToBeGenerated) {
  ResponseOptions options = response_options();
  options.generate = false;
  options.store = roomy_store();
  const auto writer = make_response_writer(options, byte_model(), Framing::kSse);
  EventBatch out(Framing::kSse);
  writer->begin(out);
  writer->delta(0, text_delta("unseen"), out);
  Finish finish = finish_of(FinishReason::kLength);
  finish.usage.cached_tokens = 3;
  writer->end({&finish, 1}, out);
  EXPECT_THAT(names_of(out),
              ElementsAre("response.created", "response.in_progress", "response.completed", ""));
  const auto response = json_of(data_of(out)[2]).at("response");
  EXPECT_EQ(response.at("output"), json_of("[]"));
  EXPECT_EQ(response.at("incomplete_details"), nullptr);
  EXPECT_EQ(response.at("usage").at("output_tokens"), 0);
  EXPECT_EQ(response.at("usage").at("input_tokens_details").at("cached_tokens"), 3);
  EXPECT_EQ(options.store->find("resp_1", "")->conversation, options.conversation);
}

/// A stored response that was made in the background, and its bytes.
template <class End>
boost::json::value made_in_background(End&& end) {
  ResponseOptions options = response_options();
  options.background = true;
  options.store = roomy_store();
  const auto store = options.store;
  const auto writer = make_response_writer(std::move(options), byte_model(), Framing::kBody);
  EventBatch out(Framing::kBody);
  writer->begin(out);
  writer->delta(0, text_delta("Hel"), out);
  end(*writer, out);
  const auto kept = store->find("resp_1", "");
  EXPECT_TRUE(kept);
  return kept ? json_of(kept->object) : boost::json::value();
}

TEST(ResponseWriterEndTest, InTheBackgroundEveryEndIsKept) {
  const auto done = made_in_background([](ReplyWriter& writer, EventBatch& out) {
    writer.end(std::vector{finish_of(FinishReason::kStop)}, out);
  });
  EXPECT_EQ(done.at("status"), "completed");
  const auto failed = made_in_background(
      [](ReplyWriter& writer, EventBatch& out) { writer.fail(broken, {}, out); });
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_EQ(failed.at("error").at("message"), "it broke");
  const auto stopped = made_in_background([](ReplyWriter& writer, EventBatch& out) {
    writer.fail(cancelled, std::vector{finish_of(FinishReason::kCancelled)}, out);
  });
  EXPECT_EQ(stopped.at("status"), "cancelled");
  EXPECT_EQ(stopped.at("output").at(0).at("content").at(0).at("text"), "Hel");
}

}  // namespace
}  // namespace weft
