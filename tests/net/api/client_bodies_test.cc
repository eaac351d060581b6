// Bodies as clients send them: fields that clients add by default or by an option, and fields that
// change no output here.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/chat/chat_request.h"
#include "weft/net/api/completions/completion_request.h"
#include "weft/net/api/responses/response_request.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

class ClientBodiesTest : public ApiFixture {
 public:
  std::string chat(const std::string& text) { return verdict(read_chat(body(text), context)); }
  /// The verdict on a chat whose last message but one is an assistant's with these fields.
  std::string chat_after(const std::string& fields) {
    return chat(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant",)" + fields +
                R"(},{"role":"user","content":"c"}]})");
  }
  std::string completion(const std::string& text) {
    return verdict(read_completion(body(text), context));
  }
  std::string response(const std::string& text) {
    return verdict(read_response(body(text), context, nullptr, true));
  }
};

TEST_F(ClientBodiesTest, OpenaiAgentsSendsStreamOverAWebSocketToo) {
  context.websocket = true;
  EXPECT_EQ(response(R"({"type":"response.create","model":"tiny","input":[{"role":"user",)"
                     R"("content":"hi"}],"instructions":"Be brief.","include":[],"stream":true,)"
                     R"("tools":[],"parallel_tool_calls":null,"store":null,"reasoning":null})"),
            "200");
  EXPECT_EQ(response(R"({"input":"hi","stream":false})"), "stream unsupported")
      << "a WebSocket's answers always stream";
  EXPECT_EQ(response(R"({"input":"hi","background":false})"), "200");
  EXPECT_EQ(response(R"({"input":"hi","background":true})"), "background unsupported");
}

TEST_F(ClientBodiesTest, CodexAsksForReasoningThatThereIsNotAndNamesItself) {
  const std::string body =
      R"({"model":"tiny","instructions":"You are a coding agent.","input":[{"type":"message",)"
      R"("role":"developer","content":[{"type":"input_text","text":"rules"}]},{"type":"message",)"
      R"("role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"ok"}]},)"
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],)"
      R"("tools":[],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":null,)"
      R"("store":false,"stream":true,"include":["reasoning.encrypted_content"],)"
      R"("prompt_cache_key":"0198","text":{"verbosity":"medium"},)"
      R"("client_metadata":{"x-codex-installation-id":"1"}})";
  EXPECT_EQ(response(body), "200");
  context.websocket = true;
  EXPECT_EQ(response(body), "200");
}

TEST_F(ClientBodiesTest, WhatThereIsNothingOfMayBeIncluded) {
  for (const char* name :
       {"reasoning.encrypted_content", "file_search_call.results", "web_search_call.results",
        "web_search_call.action.sources", "code_interpreter_call.outputs",
        "computer_call_output.output.image_url", "message.input_image.image_url"}) {
    const std::string include = R"(,"include":[")" + std::string(name) + R"("]})";
    EXPECT_EQ(response(R"({"input":"hi")" + include), "200") << name;
    const auto read = read_response(body(R"({"input":"hi")" + include), context, nullptr, true);
    EXPECT_FALSE(read->options.logprobs) << name;
  }
  EXPECT_EQ(response(R"({"input":"hi","include":["message.output_text.annotations"]})"),
            "include[0] unsupported");
}

TEST_F(ClientBodiesTest, GuidellmWantsTheUsageInEveryChunk) {
  const std::string options =
      R"("stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},)"
      R"("max_tokens":8,"max_completion_tokens":8,"stop":null,"ignore_eos":true)";
  const auto chat = read_chat(
      body(
          R"({"model":"tiny","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],)" +
          options + "}"),
      context);
  ASSERT_TRUE(chat);
  EXPECT_TRUE(chat->options.usage_in_chunks);
  EXPECT_TRUE(chat->options.include_usage);
  const auto text = read_completion(
      body(R"({"prompt":"a","stream":true,"stream_options":{"continuous_usage_stats":true}})"),
      context);
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->options.usage_in_chunks);
  EXPECT_FALSE(text->options.include_usage);
  EXPECT_EQ(completion(R"({"prompt":"a","stream_options":{"continuous_usage_stats":"yes"}})"),
            "stream_options.continuous_usage_stats invalid_type");
}

TEST_F(ClientBodiesTest, LiteLlmPutsFieldsOfItsOwnIntoHistory) {
  EXPECT_EQ(chat_after(R"("content":"b","tool_calls":null,"function_call":null,)"
                       R"("provider_specific_fields":{"refusal":null,"reasoning":"hm"},)"
                       R"("reasoning_content":"hm","thinking_blocks":[{"type":"thinking",)"
                       R"("thinking":"hm","signature":""}],"cache_control":{"type":"ephemeral"})"),
            "200");
  EXPECT_EQ(chat(R"({"messages":[{"role":"system","content":"a","cache_control":)"
                 R"({"type":"ephemeral"}},{"role":"user","content":"b"}]})"),
            "200");
}

TEST_F(ClientBodiesTest, OpenRoutersClientsSendThoughtsBack) {
  EXPECT_EQ(chat_after(R"("content":"b","reasoning":"hm","reasoning_details":[{"text":"hm"}])"),
            "200");
  EXPECT_EQ(chat(R"({"messages":[{"role":"user","content":"a","reasoning":"hm"}]})"),
            "messages[0].reasoning unknown_parameter")
      << "only an assistant has thoughts";
}

TEST_F(ClientBodiesTest, AnAnswerOfSoundIsTakenByItsText) {
  EXPECT_EQ(chat_after(R"("content":"b","audio":{"id":"audio_1"})"), "200");
  EXPECT_EQ(chat_after(R"("content":null,"audio":{"id":"audio_1"})"),
            "messages[1].audio unsupported");
}

TEST_F(ClientBodiesTest, ValuesOfVllmAndLlamaCppThatMeanNothingAreTaken) {
  const std::string defaults =
      R"("return_token_ids":false,"prompt_logprobs":0,"spaces_between_special_tokens":true,)"
      R"("cache_prompt":true})";
  EXPECT_EQ(chat(R"({"messages":[{"role":"user","content":"a"}],)" + defaults), "200");
  EXPECT_EQ(completion(R"({"prompt":"a",)" + defaults), "200");
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("return_token_ids":5)", "return_token_ids invalid_type"},
           {R"("spaces_between_special_tokens":false)",
            "spaces_between_special_tokens unsupported"},
           {R"("cache_prompt":1)", "cache_prompt unsupported"}}) {
    EXPECT_EQ(completion(R"({"prompt":"a",)" + fields + "}"), expected);
  }
}

TEST_F(ClientBodiesTest, WishesOfOpenaisNewerFieldsAreTakenWhereTheyChangeNothing) {
  const std::string chat_begin = R"({"messages":[{"role":"user","content":"a"}],)";
  EXPECT_EQ(chat(chat_begin + R"("verbosity":"low","web_search_options":{}})"), "200");
  EXPECT_EQ(chat(chat_begin + R"("verbosity":"loud"})"), "verbosity unsupported");
  EXPECT_EQ(chat(chat_begin + R"("web_search_options":{"search_context_size":"low"}})"),
            "web_search_options unsupported");
  EXPECT_EQ(response(R"({"input":"a","context_management":[],"text":{"verbosity":"high"}})"),
            "200");
  EXPECT_EQ(response(R"({"input":"a","context_management":[{"type":"compaction"}]})"),
            "context_management unsupported");
  EXPECT_EQ(response(R"({"input":"a","text":{"verbosity":7}})"), "text.verbosity unsupported");
}

TEST_F(ClientBodiesTest, ANamedToolIsRefusedForWhatItIs) {
  const char* named = R"({"input":"a","tool_choice":{"type":"function","name":"look"}})";
  EXPECT_EQ(response(named), "tool_choice invalid_value");
  const auto read = read_response(body(named), context, nullptr, true);
  EXPECT_EQ(read.error().message, "tool_choice: asks for a call, and there are no tools");
  EXPECT_EQ(response(R"({"input":"a","tool_choice":"required"})"), "tool_choice invalid_value");
  EXPECT_EQ(response(R"({"input":"a","tool_choice":5})"), "tool_choice invalid_type");
  EXPECT_EQ(chat(R"({"messages":[{"role":"user","content":"a"}],"function_call":[]})"),
            "function_call invalid_type");
}

}  // namespace
}  // namespace weft::test
