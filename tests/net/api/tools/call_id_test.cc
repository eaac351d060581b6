#include "weft/net/api/tools/call_id.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/messages/messages_api.h"
#include "weft/net/api/ollama/ollama_api.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/responses/response_options.h"
#include "weft/tests/net/api/written_events.h"

namespace weft::test {
namespace {

/// Two calls, of which the model has named the first.
Delta named_call_delta() {
  TypedText text;
  text.add(PieceKind::kText, "Well");
  text.add(PieceKind::kCallId, "functions.f:7");
  text.add(PieceKind::kCallName, "f");
  text.add(PieceKind::kArguments, "{}");
  text.add(PieceKind::kCallEnd, {});
  text.add(PieceKind::kCallName, "g");
  text.add(PieceKind::kArguments, "{}");
  text.add(PieceKind::kCallEnd, {});
  Delta delta = text_delta(text.text());
  delta.marks.assign(text.marks().begin(), text.marks().end());
  return delta;
}

std::string written(ReplyWriter& writer, Framing framing) {
  EventBatch out(framing);
  writer.begin(out);
  writer.delta(0, named_call_delta(), out);
  Finish finish = finish_of(FinishReason::kStop);
  finish.choices[0].calls = 2;
  writer.end(std::vector{finish}, out);
  std::string all;
  for (const std::string& data : data_of(out)) all += data + '\n';
  return all;
}

void expect_ids(const std::string& text, const std::string& answer) {
  EXPECT_NE(text.find("functions.f:7"), std::string::npos) << text;
  EXPECT_EQ(text.find(call_id(answer, 0, 0)), std::string::npos) << text;
  EXPECT_NE(text.find(call_id(answer, 0, 1)), std::string::npos) << text;
  EXPECT_EQ(text.find("Wellfunctions"), std::string::npos) << text;
}

TEST(CallIdTest, AnIdOfTheModelsOwnComesBackAsItWroteItInEveryApi) {
  for (const bool stream : {false, true}) {
    const Framing sse = stream ? Framing::kSse : Framing::kBody;
    CompletionOptions chat;
    chat.id = "a-1";
    chat.model = "m";
    chat.stream = stream;
    expect_ids(written(*make_chat_writer(chat, byte_model()), sse), "a-1");
    const MessageOptions messages{
        .id = "a-2", .model = "m", .service_tier = "standard", .max_tokens = 9, .stream = stream};
    expect_ids(written(*make_message_writer(messages, byte_model()), sse), "a-2");
    const OllamaOptions ollama{.id = "a-3",
                               .model = "m",
                               .created_at = "2026-01-01T00:00:00Z",
                               .chat = true,
                               .stream = stream};
    expect_ids(written(*make_ollama_writer(ollama, byte_model()),
                       stream ? Framing::kLines : Framing::kBody),
               "a-3");
    const ResponseOptions responses = response_options();
    expect_ids(written(*make_response_writer(responses, byte_model(), sse), sse), responses.id);
  }
}

}  // namespace
}  // namespace weft::test
