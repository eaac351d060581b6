#include "weft/net/api/ollama/ollama_request.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/ollama/ollama_api.h"
#include "weft/tests/net/api/api_fixture.h"
#include "weft/tests/net/api/tool_model.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class OllamaRequestTest : public ApiFixture {
 public:
  ApiResult<OllamaRequest> chat(const std::string& text) {
    return read_ollama_chat(body(text), context);
  }
  ApiResult<OllamaRequest> generate(const std::string& text) {
    return read_ollama_generate(body(text), context);
  }
  /// A chat of one question with these fields, which begin with a comma.
  ApiResult<OllamaRequest> asked(const std::string& fields) {
    return chat(R"({"messages":[{"role":"user","content":"a"}])" + fields + "}");
  }
  ApiResult<OllamaRequest> optioned(const std::string& options) {
    return asked(R"(,"options":{)" + options + "}");
  }
  Request request(const std::string& options) { return optioned(options).value().parts.front(); }
  std::string refused(const std::string& options) { return verdict(optioned(options)); }
  std::string turns(const ApiResult<OllamaRequest>& result) {
    if (!result) return verdict(result);
    return json::serialize(result->parts.front().messages);
  }
};

TEST_F(OllamaRequestTest, AChatBecomesOneRequest) {
  const auto result = asked(
      R"(,"model":"tiny:latest","stream":false,"options":{"num_predict":7,"stop":["x"],"seed":5})");
  ASSERT_TRUE(result) << verdict(result);
  ASSERT_EQ(result->parts.size(), 1U);
  const Request& request = result->parts.front();
  EXPECT_EQ(turns(result), R"([{"role":"user","content":"a"}])");
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_TRUE(request.clip_max_tokens);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x"}));
  EXPECT_EQ(request.sampling.seed, 5U);
  EXPECT_EQ(request.client, "somebody");
  EXPECT_EQ(request.timeout, context.timeout);
  EXPECT_EQ(result->options.model, "tiny:latest");
  EXPECT_EQ(result->options.created_at, "1970-01-01T00:16:40Z");
  EXPECT_TRUE(result->options.chat);
  EXPECT_FALSE(result->options.stream);
}

TEST_F(OllamaRequestTest, ALastMessageOfTheAssistantsIsContinued) {
  const auto continues = [this](const std::string& last) {
    const auto result = chat(R"({"messages":[{"role":"user","content":"a"},)" + last + "]}");
    EXPECT_TRUE(result) << verdict(result);
    return result && result->parts.front().continue_final_message;
  };
  EXPECT_TRUE(continues(R"({"role":"assistant","content":"b"})"));
  EXPECT_FALSE(continues(R"({"role":"user","content":"b"})"));
}

TEST_F(OllamaRequestTest, StreamsUnlessItIsToldNotTo) {
  EXPECT_TRUE(asked("").value().options.stream);
  EXPECT_TRUE(asked(R"(,"stream":null)").value().options.stream);
  EXPECT_EQ(decode_ollama_chat(body(R"({"messages":[]})"), context)->framing, Framing::kLines);
  EXPECT_EQ(decode_ollama_chat(body(R"({"stream":false})"), context)->framing, Framing::kBody);
}

TEST_F(OllamaRequestTest, AModelIsFoundWithItsTagAndWithout) {
  for (const char* name : {"tiny", "tiny:latest"}) {
    EXPECT_EQ(asked(R"(,"model":")" + std::string(name) + "\"").value().options.model, name);
  }
  EXPECT_EQ(asked("").value().options.model, "tiny:latest");
  for (const char* name : {"tiny:1b", "", "tin", "latest", "tiny:latest:latest"}) {
    EXPECT_EQ(verdict(asked(R"(,"model":")" + std::string(name) + "\"")),
              "404 model model_not_found")
        << name;
  }
  context.card.name = "tiny:1b";
  EXPECT_EQ(verdict(asked(R"(,"model":"tiny:1b")")), "200");
  EXPECT_EQ(verdict(asked(R"(,"model":"tiny:latest")")), "404 model model_not_found");
}

TEST_F(OllamaRequestTest, OptionsHaveOllamasNames) {
  EXPECT_EQ(request(R"("repeat_penalty":1.5)").sampling.penalties.repetition, 1.5F);
  EXPECT_EQ(request(R"("mirostat":2)").sampling.mirostat.version, 2);
  EXPECT_EQ(request(R"("temperature":0.5)").sampling.temperature, 0.5F);
  EXPECT_EQ(request(R"("min_p":0.25)").sampling.min_p, 0.25F);
  EXPECT_EQ(request(R"("top_k":3)").sampling.top_k, 3);
  EXPECT_EQ(refused(R"("repetition_penalty":1)"), "options.repetition_penalty unknown_parameter");
  EXPECT_EQ(refused(R"("mirostat_mode":1)"), "options.mirostat_mode unknown_parameter");
}

TEST_F(OllamaRequestTest, RepeatLastNOfZeroIsNoPenalty) {
  const auto penalties = [this](const std::string& last) {
    return request(R"("repeat_penalty":1.5,"presence_penalty":1,"repeat_last_n":)" + last)
        .sampling.penalties;
  };
  EXPECT_EQ(penalties("-1").window, 0) << "all";
  EXPECT_EQ(penalties("-1").repetition, 1.5F);
  EXPECT_EQ(penalties("64").window, 64);
  EXPECT_EQ(penalties("0").repetition, 1.0F);
  EXPECT_EQ(penalties("0").presence, 0.0F);
  EXPECT_EQ(refused(R"("repeat_last_n":-2)"), "options.repeat_last_n invalid_value");
}

TEST_F(OllamaRequestTest, OptionsSayHowTokensMayBeGuessed) {
  EXPECT_EQ(request(R"("speculation":{"max_tokens":3})").speculation.max_tokens, 3);
  EXPECT_EQ(refused(R"("speculation":{"max_tokens":65})"),
            "options.speculation.max_tokens invalid_value");
}

TEST_F(OllamaRequestTest, ASeedOfMinusOneIsAny) {
  EXPECT_EQ(request(R"("seed":-1)").sampling.seed, std::nullopt);
  EXPECT_EQ(request(R"("seed":-2)").sampling.seed, static_cast<std::uint64_t>(-2));
  EXPECT_EQ(request(R"("seed":0)").sampling.seed, 0U);
}

TEST_F(OllamaRequestTest, WithoutABoundTheContextIsTheBound) {
  EXPECT_EQ(request("").max_tokens, 0);
  for (const char* none : {"-1", "-2", "0"}) {
    EXPECT_EQ(request(R"("num_predict":)" + std::string(none)).max_tokens, 0) << none;
  }
  EXPECT_EQ(refused(R"("num_predict":-3)"), "options.num_predict invalid_value");
  EXPECT_EQ(refused(R"("num_predict":134217728)"), "options.num_predict invalid_value");
}

TEST_F(OllamaRequestTest, AMistakeIsNamedInTheWordsOfTheClient) {
  EXPECT_EQ(refused(R"("temperatur":1)"), "options.temperatur unknown_parameter");
  EXPECT_EQ(refused(R"("temperature":"hot")"), "options.temperature invalid_type");
  const auto result = optioned(R"("repeat_penalty":101)");
  EXPECT_EQ(verdict(result), "repeat_penalty invalid_value");
  EXPECT_THAT(result.error().message, testing::HasSubstr("repeat_penalty"));
  EXPECT_EQ(refused(R"("stop":[""])"), "stop[0] invalid_value");
  EXPECT_EQ(refused(R"("n":2)"), "options.n unsupported");
  EXPECT_EQ(refused(R"("vocab_only":true)"), "options.vocab_only unsupported");
  EXPECT_EQ(verdict(asked(R"(,"options":5)")), "options invalid_type");
  EXPECT_EQ(verdict(asked(R"(,"options":[])")), "options invalid_type");
  EXPECT_EQ(verdict(asked(R"(,"temperature":1)")), "temperature unknown_parameter");
  EXPECT_EQ(verdict(chat(R"({"messages":5})")), "messages invalid_type");
  EXPECT_EQ(verdict(chat(R"({"messages":[5]})")), "messages[0] invalid_type");
  EXPECT_EQ(verdict(chat(R"({"messages":[{"content":"a"}]})")),
            "messages[0].role missing_required_parameter");
  EXPECT_EQ(verdict(chat(R"({"messages":[{"role":"developer","content":"a"}]})")),
            "messages[0].role invalid_value");
  EXPECT_EQ(verdict(chat(R"({"messages":[{"role":"user"}]})")),
            "messages[0].content missing_required_parameter");
  EXPECT_EQ(verdict(chat(R"({"messages":[{"role":"user","content":[]}]})")),
            "messages[0].content invalid_type");
  EXPECT_EQ(verdict(chat(R"({"messages":[{"role":"user","content":"a","x":1}]})")),
            "messages[0].x unknown_parameter");
  EXPECT_EQ(verdict(chat(R"({"prompt":"a"})")), "prompt unknown_parameter");
  EXPECT_EQ(verdict(generate(R"({"messages":[]})")), "messages unknown_parameter");
}

TEST_F(OllamaRequestTest, WhatWeftCannotDoIsRefusedByName) {
  EXPECT_EQ(verdict(asked(R"(,"format":"yaml")")), "format invalid_value");
  EXPECT_EQ(verdict(asked(R"(,"format":1)")), "format invalid_type");
  EXPECT_EQ(verdict(asked(R"(,"tools":[{"type":"function","function":{"name":"f"}}])")),
            "tools unsupported")
      << "the template has none";
  EXPECT_EQ(verdict(chat(R"({"messages":[{"role":"user","content":"a","images":["AA"]}]})")),
            "messages[0].images unsupported");
  for (const char* field :
       {R"("images":["AA"])", R"("suffix":"b")", R"("template":"t")", R"("context":[1])"}) {
    const std::string name = std::string(field).substr(1, std::string(field).find(':') - 2);
    EXPECT_EQ(verdict(generate(R"({"prompt":"a",)" + std::string(field) + "}")),
              name + " unsupported");
  }
  EXPECT_EQ(verdict(generate(R"({"prompt":"a","width":5})")), "width unknown_parameter");
}

TEST_F(OllamaRequestTest, OldMessagesAreLeftOutUnlessThatIsForbidden) {
  const auto drops = [this](const std::string& fields) {
    return asked(fields).value().parts.front().drop_oldest_messages;
  };
  EXPECT_TRUE(drops(""));
  EXPECT_TRUE(drops(R"(,"truncate":true)"));
  EXPECT_FALSE(drops(R"(,"truncate":false)"));
  EXPECT_EQ(verdict(asked(R"(,"truncate":1)")), "truncate invalid_type");
}

TEST_F(OllamaRequestTest, WhatAsksForNothingSpecialIsTaken) {
  EXPECT_EQ(verdict(asked(R"(,"format":"","tools":[],"keep_alive":"5m","truncate":true)")), "200");
  EXPECT_EQ(refused(R"("num_ctx":4096,"num_gpu":99,"use_mmap":null,"penalize_newline":true)"),
            "200");
}

TEST_F(OllamaRequestTest, WhetherItThinksIsAskedOfTheTemplate) {
  const auto kwargs = [this](const std::string& think) {
    return asked(R"(,"think":)" + think).value().parts.front().chat_template_kwargs;
  };
  EXPECT_EQ(kwargs("false"), (json::object{{"enable_thinking", false}, {"thinking", false}}));
  EXPECT_EQ(kwargs("true"), (json::object{{"enable_thinking", true}, {"thinking", true}}));
  EXPECT_EQ(
      kwargs(R"("high")"),
      (json::object{{"reasoning_effort", "high"}, {"enable_thinking", true}, {"thinking", true}}));
  EXPECT_TRUE(kwargs("null").empty());
  EXPECT_EQ(verdict(asked(R"(,"think":1)")), "think invalid_type");
  EXPECT_EQ(verdict(asked(R"(,"think":"hard")")), "think invalid_value");
  EXPECT_TRUE(asked("").value().parts.front().typed_output);
  EXPECT_FALSE(generate(R"({"prompt":"a","raw":true})").value().parts.front().typed_output);
}

TEST_F(OllamaRequestTest, ToolsAndTheirCallsAreToldToTheModel) {
  *model = tool_model();
  const std::string tools =
      R"([{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])";
  EXPECT_EQ(json::serialize(asked(R"(,"tools":)" + tools).value().parts.front().tools),
            R"([{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])");
  const auto call = [](const std::string& id, const std::string& name) {
    return R"({)" + id + R"("function":{"name":")" + name + R"(","arguments":{"x":1}}})";
  };
  const auto result =
      chat(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","thinking":"hm",)"
           R"("tool_calls":[)" +
           call(R"("id":"c1",)", "look") + "," + call("", "see") + "," + call("", "look") +
           R"(]},{"role":"tool","content":"s","tool_name":"see"},{"role":"tool","content":"1"},)"
           R"({"role":"tool","content":"2","tool_name":"unknown"},{"role":"tool","content":"3"},)"
           R"({"role":"tool","content":"4","tool_call_id":"c9","tool_name":"f"}]})");
  ASSERT_TRUE(result) << verdict(result);
  const json::array& turns = result->parts.front().messages;
  const json::object& said = turns.at(1).as_object();
  EXPECT_EQ(said.at("reasoning_content"), "hm");
  const json::array& calls = said.at("tool_calls").as_array();
  EXPECT_EQ(calls.at(0).at("id"), "c1");
  EXPECT_EQ(calls.at(1).at("id").as_string().size(), 9U) << "it got one";
  EXPECT_NE(calls.at(1).at("id"), calls.at(2).at("id"));
  EXPECT_EQ(calls.at(1).at("function"), json::parse(R"({"name":"see","arguments":{"x":1}})"));
  EXPECT_EQ(turns.at(2).at("tool_call_id"), calls.at(1).at("id")) << "the one of that name";
  EXPECT_EQ(turns.at(3).at("tool_call_id"), "c1") << "the first that is open";
  EXPECT_EQ(turns.at(4).at("tool_call_id"), calls.at(2).at("id"));
  EXPECT_EQ(turns.at(4).at("name"), "look");
  EXPECT_FALSE(turns.at(5).as_object().contains("tool_call_id")) << "none is open";
  EXPECT_EQ(turns.at(6), json::parse(R"({"role":"tool","content":"4","name":"f",)"
                                     R"("tool_call_id":"c9"})"));
}

TEST_F(OllamaRequestTest, AResultIsOfTheLastMessageWithCalls) {
  *model = tool_model();
  const auto result = chat(
      R"({"messages":[{"role":"assistant","tool_calls":[{"id":"old","function":{"name":"f"}}]},)"
      R"({"role":"assistant","tool_calls":[{"id":"new","function":{"name":"g"}}]},)"
      R"({"role":"tool","content":"1","tool_name":"f"},{"role":"tool","content":"2"}]})");
  ASSERT_TRUE(result) << verdict(result);
  const json::array& turns = result->parts.front().messages;
  EXPECT_EQ(turns.at(2).at("tool_call_id"), "new")
      << "what went before that is forgotten, or thousands of calls would be searched each time";
  EXPECT_FALSE(turns.at(3).as_object().contains("tool_call_id"));
}

TEST_F(OllamaRequestTest, AMistakeInACallIsNamedByItsPath) {
  const auto said = [this](const std::string& calls) {
    return verdict(chat(R"({"messages":[{"role":"assistant","tool_calls":)" + calls + "}]}"));
  };
  EXPECT_EQ(said("5"), "messages[0].tool_calls invalid_type");
  EXPECT_EQ(said("[5]"), "messages[0].tool_calls[0] invalid_type");
  EXPECT_EQ(said("[{}]"), "messages[0].tool_calls[0].function missing_required_parameter");
  EXPECT_EQ(said(R"([{"function":{}}])"),
            "messages[0].tool_calls[0].function.name missing_required_parameter");
  EXPECT_EQ(said(R"([{"function":{"name":"f","arguments":"{}"}}])"),
            "messages[0].tool_calls[0].function.arguments invalid_type");
  EXPECT_EQ(said(R"([{"function":{"name":"f","x":1}}])"),
            "messages[0].tool_calls[0].function.x unknown_parameter");
  EXPECT_EQ(verdict(chat(R"({"messages":[{"role":"user","content":"a","tool_calls":[{}]}]})")),
            "messages[0].tool_calls unknown_parameter")
      << "they are of an assistant's";
}

TEST_F(OllamaRequestTest, APromptIsAUsersMessage) {
  EXPECT_EQ(turns(generate(R"({"prompt":"a"})")), R"([{"role":"user","content":"a"}])");
  EXPECT_EQ(turns(generate(R"({"prompt":"a","system":"b"})")),
            R"([{"role":"system","content":"b"},{"role":"user","content":"a"}])");
  const Request raw = generate(R"({"prompt":"a","raw":true})").value().parts.front();
  EXPECT_EQ(raw.prompt, "a");
  EXPECT_TRUE(raw.messages.empty());
  EXPECT_EQ(verdict(generate(R"({"prompt":"a","raw":true,"system":"b"})")), "system unsupported");
}

TEST_F(OllamaRequestTest, AModelWithoutATemplateContinuesPromptsAndCannotChat) {
  Vocabulary plain = tiny_vocabulary();
  model->tokenizer = Tokenizer::from_vocabulary(plain, "plain").value();
  model->chat = ChatEncoder(model->tokenizer);
  EXPECT_EQ(generate(R"({"prompt":"a","think":false})").value().parts.front().prompt, "a");
  EXPECT_EQ(verdict(generate(R"({"prompt":"a","system":"b"})")), "system unsupported");
  EXPECT_EQ(verdict(asked("")), "- unsupported");
}

TEST_F(OllamaRequestTest, WithoutAnythingToAnswerTheModelIsLoaded) {
  const auto reason = [](const ApiResult<OllamaRequest>& result) {
    EXPECT_TRUE(result->parts.empty());
    return result->options.done_reason;
  };
  EXPECT_EQ(reason(chat("{}")), "load");
  EXPECT_EQ(reason(chat(R"({"messages":[],"keep_alive":"5m"})")), "load");
  EXPECT_EQ(reason(chat(R"({"messages":[],"keep_alive":-1})")), "load");
  EXPECT_EQ(reason(generate(R"({"prompt":"","system":"b"})")), "load");
  EXPECT_EQ(reason(generate(R"({"keep_alive":0})")), "unload");
  EXPECT_EQ(reason(generate(R"({"keep_alive":"0s"})")), "unload");
}

TEST_F(OllamaRequestTest, MessagesAreBounded) {
  std::string list = R"({"role":"user","content":"a"})";
  const std::string one = "," + list;
  for (std::size_t i = 0; i < defaults::kMaxMessages; ++i) list += one;
  EXPECT_EQ(verdict(chat(R"({"messages":[)" + list + "]}")), "messages invalid_value");
}

}  // namespace
}  // namespace weft::test
