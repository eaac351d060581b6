#include "weft/net/api/messages/message_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/messages/messages_api.h"
#include "weft/tests/net/api/api_fixture.h"
#include "weft/tests/net/api/tool_model.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class MessageRequestTest : public ApiFixture {
 public:
  ApiResult<MessageRequest> read(const std::string& text) {
    return read_messages(body(text), context);
  }
  /// Reads a body of one question and these fields, which begin with a comma.
  ApiResult<MessageRequest> asked(const std::string& fields) {
    return read(R"({"max_tokens":5,"messages":[{"role":"user","content":"a"}])" + fields + "}");
  }
  std::string refused(const std::string& fields) { return verdict(asked(fields)); }
  Request request(const std::string& fields) { return asked(fields).value().parts.front(); }
  /// Returns the conversation of these messages, or why there is none.
  std::string turns(const std::string& messages, const std::string& fields = "") {
    const auto result = read(R"({"max_tokens":5,"messages":)" + messages + fields + "}");
    if (!result) return verdict(result);
    return json::serialize(result->parts.front().messages);
  }
  static std::string one(const std::string& content) {
    return R"([{"role":"user","content":)" + content + "}]";
  }
};

TEST_F(MessageRequestTest, ABodyBecomesOneRequest) {
  const auto result = asked(
      R"(,"model":"tiny","stop_sequences":["x","yz"],"temperature":0.5,"top_p":0.25,"top_k":7,)"
      R"("seed":3,"stream":true,"metadata":{"user_id":"me"},"priority":2,)"
      R"("speculation":{"max_tokens":2})");
  ASSERT_TRUE(result) << verdict(result);
  ASSERT_EQ(result->parts.size(), 1U);
  const Request& request = result->parts.front();
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_TRUE(request.clip_max_tokens);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(request.sampling.temperature, 0.5F);
  EXPECT_EQ(request.sampling.top_p, 0.25F);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.seed, 3U);
  EXPECT_EQ(request.priority, 2);
  EXPECT_EQ(request.speculation.max_tokens, 2);
  EXPECT_EQ(request.client, "somebody");
  EXPECT_EQ(request.timeout, context.timeout);
  EXPECT_EQ(result->options.id, "msg_42");
  EXPECT_EQ(result->options.model, "tiny");
  EXPECT_EQ(result->options.max_tokens, 5);
  EXPECT_TRUE(result->options.stream);
}

TEST_F(MessageRequestTest, TextsAndBlocksAreTheSame) {
  const std::string same = R"([{"role":"user","content":"a\nb"}])";
  EXPECT_EQ(turns(one(R"("a\nb")")), same);
  EXPECT_EQ(turns(one(R"([{"type":"text","text":"a"},{"type":"text","text":"b",)"
                      R"("cache_control":{"type":"ephemeral"},"citations":null}])")),
            same);
  EXPECT_EQ(turns(R"([{"role":"user","content":"a"},{"role":"user","content":"b"}])"), same)
      << "turns of one role are one";
}

TEST_F(MessageRequestTest, TheSystemsWordsComeFirst) {
  const std::string both =
      R"([{"role":"system","content":"be\nshort"},{"role":"user","content":"a"}])";
  EXPECT_EQ(turns(one(R"("a")"), R"(,"system":"be\nshort")"), both);
  EXPECT_EQ(turns(one(R"("a")"),
                  R"(,"system":[{"type":"text","text":"be"},{"type":"text","text":"short"}])"),
            both);
  EXPECT_EQ(turns(R"([{"role":"system","content":"short"},{"role":"user","content":"a"}])",
                  R"(,"system":"be")"),
            both);
  EXPECT_EQ(turns(one(R"("a")"), R"(,"system":"")"), one(R"("a")"));
}

TEST_F(MessageRequestTest, AMistakeIsNamedByItsPath) {
  EXPECT_EQ(verdict(read("{}")), "messages missing_required_parameter");
  EXPECT_EQ(verdict(read(R"({"messages":[{"role":"user","content":"a"}]})")),
            "max_tokens missing_required_parameter");
  EXPECT_EQ(turns("[]"), "messages invalid_value");
  EXPECT_EQ(turns("{}"), "messages invalid_type");
  EXPECT_EQ(turns("[5]"), "messages[0] invalid_type");
  EXPECT_EQ(turns(R"([{"content":"a"}])"), "messages[0].role missing_required_parameter");
  EXPECT_EQ(turns(R"([{"role":"tool","content":"a"}])"), "messages[0].role invalid_value");
  EXPECT_EQ(turns(R"([{"role":"user"}])"), "messages[0].content missing_required_parameter");
  EXPECT_EQ(turns(one("5")), "messages[0].content invalid_type");
  EXPECT_EQ(turns(one("[5]")), "messages[0].content[0] invalid_type");
  EXPECT_EQ(turns(one(R"([{"text":"a"}])")),
            "messages[0].content[0].type missing_required_parameter");
  EXPECT_EQ(turns(one(R"([{"type":"text"}])")),
            "messages[0].content[0].text missing_required_parameter");
  EXPECT_EQ(turns(one(R"([{"type":"text","text":"a","x":1}])")),
            "messages[0].content[0].x unknown_parameter");
  EXPECT_EQ(turns(R"([{"role":"user","content":"a","x":1}])"), "messages[0].x unknown_parameter");
  EXPECT_EQ(turns(one(R"("a")"), R"(,"system":[{"type":"image"}])"), "system[0].type unsupported");
  EXPECT_EQ(refused(R"(,"temperatur":1)"), "temperatur unknown_parameter");
  EXPECT_EQ(refused(R"(,"temperature":101)"), "temperature invalid_value");
  EXPECT_EQ(refused(R"(,"stop_sequences":["a",""])"), "stop_sequences[1] invalid_value");
  EXPECT_EQ(refused(R"(,"stop_sequences":["a",5])"), "stop_sequences[1] invalid_type");
  EXPECT_EQ(refused(R"(,"stop":["a"])"), "stop unknown_parameter") << "it has another name here";
  EXPECT_EQ(verdict(read(R"({"max_tokens":0,"messages":)" + one(R"("a")") + "}")),
            "max_tokens invalid_value");
  EXPECT_EQ(refused(R"(,"model":"claude")"), "404 model model_not_found");
}

TEST_F(MessageRequestTest, WhatWeftCannotDoIsRefusedByName) {
  for (const char* type : {"image", "document", "search_result", "tool_use", "thinking",
                           "redacted_thinking", "container_upload"}) {
    EXPECT_EQ(turns(one(R"([{"type":")" + std::string(type) + R"("}])")),
              "messages[0].content[0].type unsupported")
        << type;
  }
  for (const char* type : {"image", "tool_result", "server_tool_use", "web_search_tool_result"}) {
    EXPECT_EQ(
        turns(R"([{"role":"assistant","content":[{"type":")" + std::string(type) + R"("}]}])"),
        "messages[0].content[0].type unsupported")
        << type;
  }
  EXPECT_EQ(turns(R"([{"role":"system","content":[{"type":"tool_result"}]}])"),
            "messages[0].content[0].type unsupported");
  EXPECT_EQ(refused(R"(,"tools":[{"name":"look","input_schema":{}}])"), "tools unsupported")
      << "the template has none";
  EXPECT_EQ(refused(R"(,"tool_choice":{"type":"any"})"), "tool_choice invalid_value");
  EXPECT_EQ(refused(R"(,"tool_choice":{"type":"tool","name":"a"})"), "tool_choice invalid_value");
  EXPECT_EQ(refused(R"(,"tool_choice":{"type":"required"})"), "tool_choice.type unsupported");
  EXPECT_EQ(refused(R"(,"thinking":{"type":"between_tools"})"), "thinking.type unsupported");
  EXPECT_EQ(refused(R"(,"output_config":{"format":{"type":"json_schema"}})"),
            "output_config.format.schema missing_required_parameter");
  EXPECT_EQ(refused(R"(,"n":2)"), "n unsupported");
  EXPECT_EQ(refused(R"(,"thread":{"type":"create"})"), "thread thread_unsupported_request");
  EXPECT_EQ(refused(R"(,"container":"c")"), "container unknown_parameter");
}

TEST_F(MessageRequestTest, AnAnswerThatTheClientHasBegunIsContinued) {
  const auto continues = [this](const std::string& last) {
    const auto result = read_messages(
        body(R"({"max_tokens":5,"messages":[{"role":"user","content":"a"},)" + last + "]}"),
        context, MessageUse::kAnswer);
    EXPECT_TRUE(result) << verdict(result);
    if (!result) return false;
    const Request& request = result->parts.front();
    EXPECT_EQ(request.add_generation_prompt, !request.continue_final_message);
    return request.continue_final_message;
  };
  EXPECT_TRUE(continues(R"({"role":"assistant","content":"b"})"));
  EXPECT_TRUE(continues(R"({"role":"assistant","content":[{"type":"text","text":"b"}]})"));
  EXPECT_FALSE(continues(R"({"role":"user","content":"b"})"));
}

TEST_F(MessageRequestTest, WhatAsksForNothingSpecialIsTaken) {
  EXPECT_EQ(
      refused(R"(,"tools":[],"tool_choice":{"type":"auto","disable_parallel_tool_use":true})"),
      "200");
  EXPECT_EQ(refused(R"(,"tool_choice":{"type":"none"},"output_config":{"effort":"low"})"), "200");
  EXPECT_EQ(refused(R"(,"cache_control":{"type":"ephemeral"},"speed":"fast","system":null)"),
            "200");
  EXPECT_EQ(refused(R"(,"mcp_servers":[])"), "200");
  EXPECT_EQ(refused(R"(,"mcp_servers":[{"type":"url"}])"), "mcp_servers unsupported");
}

TEST_F(MessageRequestTest, EditsOfTheContextAreTakenAndToldOf) {
  const std::string edits =
      R"(,"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"},)"
      R"({"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":1000}}]})";
  EXPECT_TRUE(asked(edits).value().options.tells_edits);
  EXPECT_TRUE(asked(R"(,"context_management":{})").value().options.tells_edits);
  EXPECT_FALSE(asked(R"(,"context_management":null)").value().options.tells_edits);
  EXPECT_EQ(refused(R"(,"context_management":{"edits":[{"keep":"all"}]})"),
            "context_management.edits[0].type missing_required_parameter");
  EXPECT_EQ(refused(R"(,"context_management":{"edits":5})"),
            "context_management.edits invalid_type");
  EXPECT_EQ(refused(R"(,"context_management":{"edit":[]})"),
            "context_management.edit unknown_parameter");
  EXPECT_EQ(refused(R"(,"context_management":[])"), "context_management invalid_type");
  const auto counted = count_message_tokens(
      body(R"({"messages":[{"role":"user","content":"a"}])" + edits + "}"), context);
  ASSERT_TRUE(counted) << verdict(counted);
  const json::value count = json::parse(*counted);
  EXPECT_EQ(count.at("context_management").at("original_input_tokens"), count.at("input_tokens"));
}

TEST_F(MessageRequestTest, AWishedEffortIsToldToATemplateThatKnowsOne) {
  EXPECT_TRUE(request(R"(,"output_config":{"effort":"high"})").chat_template_kwargs.empty())
      << "this one does not";
  Vocabulary vocabulary = tiny_vocabulary();
  vocabulary.chat_template =
      "{{ reasoning_effort }}{% for m in messages %}{{ m.content }}{% endfor %}";
  *model = ServedModel{.tokenizer = Tokenizer::from_vocabulary(vocabulary, "efforts").value()};
  model->vocabulary = kTinyVocabulary;
  model->context = 64;
  model->end_tokens = {2};
  const auto effort = [this](const std::string& wish) {
    return request(R"(,"output_config":{"effort":")" + wish + "\"}").chat_template_kwargs;
  };
  EXPECT_EQ(effort("low"), (json::object{{"reasoning_effort", "low"}}));
  EXPECT_EQ(effort("max"), (json::object{{"reasoning_effort", "high"}}));
  EXPECT_TRUE(effort("auto").empty());
  EXPECT_EQ(refused(R"(,"output_config":{"effort":5})"), "output_config.effort invalid_type");
}

TEST_F(MessageRequestTest, WhetherItThinksIsAskedOfTheTemplate) {
  const auto kwargs = [this](const std::string& fields) {
    return request(fields).chat_template_kwargs;
  };
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"disabled"})"),
            (json::object{{"enable_thinking", false}, {"thinking", false}}));
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"enabled","budget_tokens":2000})"),
            (json::object{{"enable_thinking", true}, {"thinking", true}}));
  EXPECT_EQ(request(R"(,"thinking":{"type":"enabled","budget_tokens":2000})").thinking_budget,
            2000);
  EXPECT_EQ(request(R"(,"thinking":{"type":"adaptive"})").thinking_budget, -1);
  EXPECT_TRUE(kwargs("").empty());
  EXPECT_TRUE(kwargs(R"(,"thinking":{"type":"adaptive"})").empty());
  EXPECT_EQ(
      kwargs(R"(,"thinking":{"type":"disabled"},"chat_template_kwargs":{"enable_thinking":true})")
          .at("enable_thinking"),
      true)
      << "what the request says itself stays";
  EXPECT_TRUE(request("").typed_output);
  const auto shown = [this](const std::string& display) {
    return asked(R"(,"thinking":{"type":"adaptive","display":)" + display + "}")
        .value()
        .options.show_thinking;
  };
  EXPECT_TRUE(shown(R"("summarized")"));
  EXPECT_TRUE(shown("null"));
  EXPECT_FALSE(shown(R"("omitted")"));
  EXPECT_EQ(refused(R"(,"thinking":{"type":"adaptive","display":"loud"})"),
            "thinking.display invalid_value");
  EXPECT_EQ(refused(R"(,"thinking":{"type":"enabled"})"),
            "thinking.budget_tokens missing_required_parameter");
  EXPECT_EQ(refused(R"(,"thinking":{"type":"enabled","budget_tokens":0})"),
            "thinking.budget_tokens invalid_value");
}

class MessageToolsTest : public MessageRequestTest {
 public:
  MessageToolsTest() { *model = tool_model(); }

  /// Reads a body that offers these tools.
  ApiResult<MessageRequest> offered(const std::string& tools, const std::string& fields = "") {
    return asked(R"(,"tools":)" + tools + fields);
  }
  static constexpr std::string_view kLook =
      R"({"name":"look","description":"d","input_schema":{"type":"object","properties":{}}})";
};

TEST_F(MessageToolsTest, ToolsAreToldToTheModelAsFunctions) {
  const std::string tools = "[" + std::string(kLook) + "]";
  const Request request = offered(tools).value().parts.front();
  EXPECT_EQ(json::serialize(request.tools),
            R"([{"type":"function","function":{"name":"look","description":"d",)"
            R"("parameters":{"type":"object","properties":{}}}}])");
  EXPECT_TRUE(request.typed_output);
  EXPECT_TRUE(request.parallel_tool_calls);
  const auto chosen = [&](const std::string& choice) {
    return offered(tools, R"(,"tool_choice":)" + choice).value().parts.front();
  };
  EXPECT_TRUE(chosen(R"({"type":"none"})").tools.is_null());
  EXPECT_FALSE(chosen(R"({"type":"auto"})").tools.is_null());
  EXPECT_FALSE(chosen(R"({"type":"auto","disable_parallel_tool_use":true})").parallel_tool_calls);
  const Request any = chosen(R"({"type":"any","disable_parallel_tool_use":true})");
  EXPECT_EQ(any.tool_choice.mode, ToolChoice::Mode::kRequired);
  EXPECT_EQ(any.tool_choice.schema_name, "input_schema");
  EXPECT_FALSE(any.parallel_tool_calls);
  EXPECT_EQ(chosen(R"({"type":"tool","name":"look"})").tool_choice.only,
            std::vector<std::string>{"look"});
}

TEST_F(MessageToolsTest, ToolsOfTheApisOwnAreTakenAndNotOffered) {
  const std::string hosted =
      R"({"type":"web_search_20250305","name":"web_search","max_uses":8,"allowed_domains":["a"]})";
  const Request alone = offered("[" + hosted + "]").value().parts.front();
  EXPECT_TRUE(alone.tools.is_null());
  const std::string both = "[" + hosted + "," + std::string(kLook) + "]";
  const Request request = offered(both).value().parts.front();
  EXPECT_EQ(request.tools.as_array().size(), 1U);
  EXPECT_EQ(verdict(offered(R"([{"type":"mcp_toolset","mcp_server_name":"a"}])")), "200");
  EXPECT_EQ(verdict(offered(R"([{"type":"bash_20250124","name":"bash"}])")), "200");
  EXPECT_EQ(verdict(offered(both, R"(,"tool_choice":{"type":"any"})")), "200");
  for (const std::string choice : {R"({"type":"any"})", R"({"type":"tool","name":"web_search"})"}) {
    const auto forced = offered("[" + hosted + "]", R"(,"tool_choice":)" + choice);
    EXPECT_EQ(verdict(forced), "tool_choice unsupported") << choice;
    EXPECT_NE(forced.error().message.find("web_search_20250305"), std::string::npos) << choice;
  }
  EXPECT_EQ(verdict(offered(both, R"(,"tool_choice":{"type":"tool","name":"web_search"})")),
            "tool_choice unsupported");
}

TEST_F(MessageToolsTest, ExamplesOfInputsAreToldWithTheSchema) {
  const auto parameters = [this](const std::string& schema, const std::string& more) {
    const Request request =
        offered(R"([{"name":"look","input_schema":)" + schema + more + "}]").value().parts.front();
    return json::serialize(request.tools.at(0).at("function").at("parameters"));
  };
  EXPECT_EQ(parameters(R"({"type":"object"})", R"(,"input_examples":[{"a":1},{"a":2}])"),
            R"({"type":"object","examples":[{"a":1},{"a":2}]})");
  EXPECT_EQ(parameters(R"({"type":"object","examples":[]})", R"(,"input_examples":[{"a":1}])"),
            R"({"type":"object","examples":[]})");
  EXPECT_EQ(parameters(R"({"type":"object"})", R"(,"input_examples":[])"), R"({"type":"object"})");
  EXPECT_EQ(verdict(offered(R"([{"name":"look","input_schema":{},"input_examples":[5]}])")),
            "tools[0].input_examples[0] invalid_type");
  EXPECT_EQ(verdict(offered(R"([{"name":"look","input_schema":{},"input_examples":{}}])")),
            "tools[0].input_examples invalid_type");
}

TEST_F(MessageToolsTest, AToolThatTheModelMayNotCallIsNotOffered) {
  const auto called_by = [](const std::string& callers) {
    return R"([{"name":"look","input_schema":{},"allowed_callers":)" + callers + "}]";
  };
  for (const char* callers :
       {"null", "[]", R"(["direct"])", R"(["code_execution_20250825","direct"])"}) {
    EXPECT_FALSE(offered(called_by(callers)).value().parts.front().tools.is_null()) << callers;
  }
  const std::string code = called_by(R"(["code_execution_20250825"])");
  EXPECT_TRUE(offered(code).value().parts.front().tools.is_null());
  EXPECT_EQ(verdict(offered(code, R"(,"tool_choice":{"type":"tool","name":"look"})")),
            "tool_choice unsupported");
  EXPECT_EQ(verdict(offered(called_by("[5]"))), "tools[0].allowed_callers[0] invalid_type");
}

TEST_F(MessageToolsTest, ToolsThatASearchHasFoundAreToldAsText) {
  EXPECT_EQ(
      turns(R"([{"role":"user","content":"a"},{"role":"assistant","content":[)"
            R"({"type":"tool_use","id":"c1","name":"ToolSearch","input":{}}]},{"role":"user",)"
            R"("content":[{"type":"tool_result","tool_use_id":"c1","content":[)"
            R"({"type":"tool_reference","tool_name":"look"},)"
            R"({"type":"tool_reference","tool_name":"see","cache_control":null}]}]}])"),
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"c1",)"
      R"("type":"function","function":{"name":"ToolSearch","arguments":{}}}]},{"role":"tool",)"
      R"("content":"The tool look can be called now.\nThe tool see can be called now.",)"
      R"("tool_call_id":"c1","name":"ToolSearch"}])");
}

TEST_F(MessageToolsTest, ToolsAreAddedInTheMiddleOfAConversation) {
  const std::string added =
      R"([{"role":"user","content":"a"},{"role":"system","content":[{"type":"tool_addition",)"
      R"("tool":{"type":"tool_definition","definition":{"name":"look","input_schema":{}}}},)"
      R"({"type":"tool_removal","tool":{"type":"tool_reference","name":"see"}}]}])";
  const auto result = read(R"({"max_tokens":5,"messages":)" + added + "}");
  ASSERT_TRUE(result) << verdict(result);
  const Request& request = result->parts.front();
  EXPECT_EQ(request.tools.at(0).at("function").at("name"), "look");
  EXPECT_EQ(request.messages.at(1).at("content"),
            "The tool look can be called now.\nThe tool see can no longer be called.");
  EXPECT_EQ(turns(R"([{"role":"system","content":[{"type":"tool_addition","tool":{}}]}])"),
            "messages[0].content[0].tool.name missing_required_parameter");
}

TEST_F(MessageToolsTest, AToolThatIsNoFunctionOfTheClientsIsRefused) {
  EXPECT_EQ(verdict(offered(R"([{"type":"function","name":"look","input_schema":{}}])")),
            "tools[0].type unsupported")
      << "it has a schema, so it is no tool of the API's own";
  EXPECT_EQ(verdict(offered(R"([{"type":"custom","name":"look","input_schema":{}}])")), "200");
  EXPECT_EQ(verdict(offered("[5]")), "tools[0] invalid_type");
  EXPECT_EQ(verdict(offered("5")), "tools invalid_type");
  EXPECT_EQ(verdict(offered(R"([{"input_schema":{}}])")),
            "tools[0].name missing_required_parameter");
  EXPECT_EQ(verdict(offered(R"([{"name":"a","parameters":{}}])")),
            "tools[0].parameters unknown_parameter")
      << "which is what others call it";
  EXPECT_EQ(verdict(offered("[" + std::string(kLook) + "," + std::string(kLook) + "]")),
            "tools[1] invalid_value");
}

TEST_F(MessageToolsTest, CallsAndResultsAreOfTheConversation) {
  EXPECT_EQ(
      turns(
          R"([{"role":"user","content":"a"},{"role":"assistant","content":[)"
          R"({"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"b"},)"
          R"({"type":"tool_use","id":"c1","name":"look","input":{"x":[1]}},)"
          R"({"type":"tool_use","id":"c2","name":"see","input":{}}]},)"
          R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"two"},)"
          R"({"type":"tool_result","tool_use_id":"c1","is_error":true,)"
          R"("content":[{"type":"text","text":"one"}]},{"type":"text","text":"and?"}]}])"),
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[)"
      R"({"id":"c1","type":"function","function":{"name":"look","arguments":{"x":[1]}}},)"
      R"({"id":"c2","type":"function","function":{"name":"see","arguments":{}}}],)"
      R"("reasoning_content":"hm"},)"
      R"({"role":"tool","content":"two","tool_call_id":"c2","name":"see"},)"
      R"({"role":"tool","content":"one","tool_call_id":"c1","name":"look"},)"
      R"({"role":"user","content":"and?"}])");
  const std::string encrypted = R"({"type":"redacted_thinking","data":"xyz"})";
  EXPECT_EQ(turns(R"([{"role":"user","content":"a"},{"role":"assistant","content":[)" + encrypted +
                  R"(,{"type":"text","text":"b"}]},{"role":"user","content":"c"}])"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
            R"({"role":"user","content":"c"}])");
}

TEST_F(MessageToolsTest, AMistakeInACallIsNamedByItsPath) {
  const auto after_a_question = [this](const std::string& role, const std::string& block) {
    return turns(R"([{"role":"user","content":"a"},{"role":")" + role + R"(","content":[)" + block +
                 "]}]");
  };
  EXPECT_EQ(after_a_question("assistant", R"({"type":"tool_use","name":"f","input":{}})"),
            "messages[1].content[0].id missing_required_parameter");
  EXPECT_EQ(after_a_question("assistant", R"({"type":"tool_use","id":"c","input":{}})"),
            "messages[1].content[0].name missing_required_parameter");
  EXPECT_EQ(after_a_question("assistant", R"({"type":"tool_use","id":"c","name":"f"})"),
            "messages[1].content[0].input missing_required_parameter");
  EXPECT_EQ(
      after_a_question("assistant", R"({"type":"tool_use","id":"c","name":"f","input":"{}"})"),
      "messages[1].content[0].input invalid_type");
  EXPECT_EQ(after_a_question("assistant", R"({"type":"tool_use","id":"c","name":"f","input":{}})"),
            "messages invalid_value")
      << "its result is missing";
  EXPECT_EQ(after_a_question("user", R"({"type":"tool_result"})"),
            "messages[1].content[0].tool_use_id missing_required_parameter");
  EXPECT_EQ(after_a_question("user", R"({"type":"tool_result","tool_use_id":"c","content":5})"),
            "messages[1].content[0].content invalid_type");
  EXPECT_EQ(after_a_question(
                "user", R"({"type":"tool_result","tool_use_id":"c","content":[{"type":"image"}]})"),
            "messages[1].content[0].content[0].type unsupported");
  EXPECT_EQ(after_a_question("user", ""), "messages[1].content invalid_value");
}

TEST_F(MessageToolsTest, ToolsCountAmongThePromptsTokens) {
  const auto counted = [this](const std::string& fields) {
    const auto answer = count_message_tokens(
        body(R"({"messages":[{"role":"user","content":"ab"}])" + fields + "}"), context);
    return json::parse(answer.value()).at("input_tokens").as_int64();
  };
  EXPECT_GT(counted(R"(,"tools":[)" + std::string(kLook) + "]"), counted("") + 20);
  EXPECT_EQ(counted(R"(,"thinking":{"type":"enabled","budget_tokens":5})"), counted("") + 5);
}

TEST_F(MessageRequestTest, TheTierIsSaidInTheApisWords) {
  const auto tier = [this](const std::string& wished) {
    return asked(wished.empty() ? "" : R"(,"service_tier":")" + wished + "\"")
        .value()
        .options.service_tier;
  };
  EXPECT_EQ(tier(""), "standard");
  EXPECT_EQ(tier("auto"), "standard");
  EXPECT_EQ(tier("standard_only"), "standard");
  EXPECT_EQ(tier("priority"), "priority");
  EXPECT_EQ(tier("batch"), "batch");
  context.class_ceiling = RequestClass::kBatch;
  EXPECT_EQ(tier(""), "batch");
  EXPECT_EQ(tier("priority"), "batch");
  EXPECT_EQ(request("").request_class, RequestClass::kBatch);
}

TEST_F(MessageRequestTest, MessagesAndBlocksAreBounded) {
  const auto list_of = [](const std::string& entry, std::size_t count) {
    std::string list = "[" + entry;
    for (std::size_t i = 1; i < count; ++i) list += "," + entry;
    return list + "]";
  };
  const std::string message = R"({"role":"user","content":"a"})";
  const std::string block = R"({"type":"text","text":"a"})";
  EXPECT_NE(turns(list_of(message, defaults::kMaxMessages)), "messages invalid_value");
  EXPECT_EQ(turns(list_of(message, defaults::kMaxMessages + 1)), "messages invalid_value");
  EXPECT_EQ(turns(one(list_of(block, defaults::kMaxContentParts + 1))),
            "messages[0].content invalid_value");
}

TEST_F(MessageRequestTest, TokensAreCountedWithoutABoundOfTheOutput) {
  const auto counted = [this](const std::string& text) {
    const auto answer = count_message_tokens(body(text), context);
    return answer ? *answer : verdict(answer);
  };
  // <s>, a space, and a token for each letter but "ab"; ":" and ";" are bytes.
  EXPECT_EQ(counted(R"({"messages":[{"role":"user","content":"ab"}]})"), R"({"input_tokens":11})");
  EXPECT_EQ(counted(R"({"messages":[{"role":"user","content":"ab"}],"max_tokens":3})"),
            R"({"input_tokens":11})");
  EXPECT_EQ(counted(R"({"messages":[]})"), "messages invalid_value");
  model->chat = ChatEncoder(model->tokenizer, "{{ raise_exception('no') }}");
  EXPECT_EQ(counted(R"({"messages":[{"role":"user","content":"ab"}]})"), "messages invalid_value");
}

TEST_F(MessageRequestTest, AModelWithoutATemplateCannotChat) {
  model->chat = ChatEncoder(model->tokenizer, "");
  EXPECT_EQ(refused(""), "- unsupported");
}

}  // namespace
}  // namespace weft::test
