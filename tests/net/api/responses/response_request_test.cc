#include "weft/net/api/responses/response_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/sampling_fields.h"
#include "weft/net/api/responses/compaction_api.h"
#include "weft/net/api/responses/referenced_items.h"
#include "weft/net/api/tools/tool_origin.h"
#include "weft/tests/net/api/api_fixture.h"
#include "weft/tests/net/api/tool_model.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class ResponseRequestTest : public ApiFixture {
 public:
  ApiResult<ResponseRequest> read(const std::string& text) {
    return read_response(body(text), context, previous, generate);
  }
  ResponseRequest taken(const std::string& text) {
    auto request = read(text);
    EXPECT_TRUE(request) << text << ": " << (request ? "" : request.error().message);
    return request ? *std::move(request) : ResponseRequest();
  }
  std::string refusal(const std::string& text) { return verdict(read(text)); }
  /// Returns the verdict on `fields` beside an input.
  std::string with(const std::string& fields) {
    return refusal(R"({"input":"hi",)" + fields + "}");
  }
  std::string messages(const std::string& text) {
    ResponseRequest request = taken(text);
    return request.parts.empty() ? "" : json::serialize(request.parts.front().messages);
  }

  const StoredResponse* previous = nullptr;
  bool generate = true;
};

TEST_F(ResponseRequestTest, TheLeastIsAnInput) {
  const ResponseRequest request = taken(R"({"input":"hi"})");
  ASSERT_EQ(request.parts.size(), 1U);
  EXPECT_EQ(json::serialize(request.parts[0].messages), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(request.parts[0].max_tokens, 0) << "as many as the context has room for";
  EXPECT_EQ(request.parts[0].client, "somebody");
  EXPECT_EQ(request.options.id, "resp_42");
  EXPECT_EQ(request.options.message_id, "msg_42");
  EXPECT_EQ(request.options.conversation, request.parts[0].messages);
  EXPECT_TRUE(request.options.generate);
  EXPECT_FALSE(request.options.logprobs);
  EXPECT_FALSE(request.options.structured);
  EXPECT_EQ(request.framing, Framing::kBody);
}

TEST_F(ResponseRequestTest, AnInputIsATextOrMessages) {
  EXPECT_EQ(messages(R"({"input":[{"role":"user","content":"a"},{"type":"message","id":"msg_1",)"
                     R"("status":"completed","role":"assistant","content":[{"type":"output_text",)"
                     R"("text":"b","annotations":[],"logprobs":[]}]},{"role":"user","content":)"
                     R"([{"type":"input_text","text":"c"},{"type":"input_text","text":"d"}]}]})"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
            R"({"role":"user","content":"c\nd"}])");
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "input missing_required_parameter"},
           {R"({"input":null})", "input missing_required_parameter"},
           {R"({"input":[]})", "input invalid_value"},
           {R"({"input":5})", "input invalid_type"},
           {R"({"input":{}})", "input invalid_type"},
           {R"({"input":[1]})", "input[0] invalid_type"},
           {R"({"input":[{}]})", "input[0].role missing_required_parameter"},
           {R"({"input":[{"role":"tool","content":"x"}]})", "input[0].role invalid_value"},
           {R"({"input":[{"role":"user"}]})", "input[0].content missing_required_parameter"},
           {R"({"input":[{"role":"user","content":[{"type":"input_image"}]}]})",
            "input[0].content[0].type unsupported"},
           {R"({"input":[{"type":"function_call_output"}]})",
            "input[0].call_id missing_required_parameter"},
           {R"({"input":[{"type":"function_call","call_id":"a","name":"f"}]})",
            "input[0].arguments missing_required_parameter"},
           {R"({"input":[{"type":"reasoning"}]})", "input invalid_value"},
           {R"({"input":[{"type":"reasoning","content":[{"type":"text","text":"a"}]}]})",
            "input[0].content[0].type unsupported"},
           {R"({"input":[{"type":"item_reference"}]})", "input[0].id missing_required_parameter"},
           {R"({"input":[{"type":"item_reference","id":"msg_1"}]})", "input[0].id invalid_value"},
           {R"({"input":[{"type":"item_reference","id":"msg"}]})", "input[0].id invalid_value"},
           {R"({"input":[{"type":"function_call_output","call_id":"a","output":"x"}]})",
            "input[0].call_id invalid_value"},
           {R"({"input":[{"type":"compaction","id":"cmp_1"}]})",
            "input[0].encrypted_content missing_required_parameter"},
           {R"({"input":[{"type":"web_search_call","id":"ws_1"}]})", "input[0].type unsupported"},
           {R"({"input":[{"type":5}]})", "input[0].type invalid_type"},
       }) {
    EXPECT_EQ(refusal(text), expected) << text;
  }
}

TEST_F(ResponseRequestTest, InstructionsStandInFrontAndAreNotKept) {
  const ResponseRequest request = taken(R"({"input":"hi","instructions":"be brief"})");
  EXPECT_EQ(json::serialize(request.parts[0].messages),
            R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"}])");
  EXPECT_EQ(json::serialize(request.options.conversation), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(request.options.echo.at("instructions"), "be brief");
  EXPECT_EQ(with(R"("instructions":[])"), "instructions invalid_type");
}

TEST_F(ResponseRequestTest, AResponseIsContinuedWithWhatIsNewBehind) {
  StoredResponse stored;
  stored.id = "resp_1";
  stored.conversation = json::parse(R"([{"role":"user","content":"a"},)"
                                    R"({"role":"assistant","content":"b"}])")
                            .as_array();
  previous = &stored;
  const ResponseRequest request =
      taken(R"({"input":"c","previous_response_id":"resp_1","instructions":"s"})");
  const std::string all = R"({"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
                          R"({"role":"user","content":"c"}])";
  EXPECT_EQ(json::serialize(request.options.conversation), "[" + all);
  EXPECT_EQ(json::serialize(request.parts[0].messages),
            R"([{"role":"system","content":"s"},)" + all);
  EXPECT_EQ(request.options.previous_id, "resp_1");
  EXPECT_EQ(request.options.echo.at("previous_response_id"), "resp_1");
  for (std::size_t i = 2; i < defaults::kMaxMessages; ++i) {
    stored.conversation.push_back(json::object{{"role", "user"}, {"content", ""}});
  }
  EXPECT_EQ(refusal(R"({"input":"c","previous_response_id":"resp_1"})"), "input invalid_value");
}

TEST_F(ResponseRequestTest, APreviousResponseThatIsNotKeptIsRefused) {
  EXPECT_EQ(with(R"("previous_response_id":"resp_9")"),
            "previous_response_id previous_response_not_found");
  EXPECT_EQ(with(R"("previous_response_id":5)"), "previous_response_id invalid_type");
  EXPECT_EQ(with(R"("previous_response_id":null)"), "200");
}

TEST_F(ResponseRequestTest, WhereItIsKeptIsTheClientsChoice) {
  context.stored = std::make_shared<ResponseStore>(ResponseStore::Bounds{1, 1});
  context.local = std::make_shared<ResponseStore>(ResponseStore::Bounds{1, 1});
  EXPECT_EQ(taken(R"({"input":"hi"})").options.store, context.stored);
  EXPECT_EQ(taken(R"({"input":"hi","store":true})").options.store, context.stored);
  const ResponseOptions unstored = taken(R"({"input":"hi","store":false})").options;
  EXPECT_EQ(unstored.store, context.local) << "of its WebSocket, where there is one";
  EXPECT_EQ(unstored.local, context.local);
  EXPECT_EQ(with(R"("store":1)"), "store invalid_type");
}

TEST_F(ResponseRequestTest, AnAnswerIsABodyAStreamOrMessages) {
  EXPECT_EQ(taken(R"({"input":"hi","stream":true})").framing, Framing::kSse);
  EXPECT_EQ(taken(R"({"input":"hi","stream":false,"background":false})").framing, Framing::kBody);
  context.websocket = true;
  EXPECT_EQ(taken(R"({"input":"hi"})").framing, Framing::kWebSocket);
  EXPECT_EQ(with(R"("stream":true)"), "200");
  EXPECT_EQ(with(R"("stream":false)"), "stream unsupported");
  EXPECT_EQ(with(R"("background":true)"), "background unsupported");
  EXPECT_EQ(with(R"("type":"response.create","stream_id":"a","generate":true)"), "200")
      << "the message's own fields";
}

TEST_F(ResponseRequestTest, WithoutGenerationThePromptIsComputedAndNoMore) {
  generate = false;
  const ResponseRequest request = taken(R"({"input":"hi"})");
  ASSERT_EQ(request.parts.size(), 1U);
  EXPECT_EQ(request.parts[0].max_tokens, 1);
  EXPECT_FALSE(request.options.generate);
  EXPECT_EQ(request.options.conversation.size(), 1U);
  EXPECT_EQ(with(R"("top_p":2)"), "top_p invalid_value") << "it is checked all the same";
}

TEST_F(ResponseRequestTest, LogprobsAreIncludedWhenAskedFor) {
  const char* include = R"({"input":"hi","include":["message.output_text.logprobs"]})";
  EXPECT_TRUE(taken(include).options.logprobs);
  EXPECT_TRUE(taken(include).parts[0].sampling.logprobs);
  const ResponseRequest three = taken(R"({"input":"hi","top_logprobs":3})");
  EXPECT_TRUE(three.options.logprobs);
  EXPECT_EQ(three.parts[0].sampling.top_logprobs, 3);
  EXPECT_EQ(three.options.echo.at("top_logprobs"), 3);
  EXPECT_EQ(with(R"("include":[])"), "200");
  EXPECT_EQ(with(R"("include":["reasoning.encrypted_content"])"), "200");
  EXPECT_EQ(with(R"("include":["message.output_text"])"), "include[0] unsupported");
  EXPECT_EQ(with(R"("include":["message.output_text.logprobs",5])"), "include[1] invalid_type");
  EXPECT_EQ(with(R"("top_logprobs":21)"), "top_logprobs invalid_value");
}

TEST_F(ResponseRequestTest, ATextThatHasToLookACertainWayIsStructured) {
  for (const char* form : {R"("text":{"format":{"type":"json_object"}})",
                           R"("structured_outputs":{"choice":["a","b"]})"}) {
    EXPECT_TRUE(taken(R"({"input":"hi",)" + std::string(form) + "}").options.structured) << form;
  }
}

TEST_F(ResponseRequestTest, MetadataAreAFewShortPairs) {
  const auto pairs = [](std::size_t count) {
    std::string text = R"("metadata":{"k":"v")";
    for (std::size_t i = 1; i < count; ++i) text += ",\"k" + std::to_string(i) + "\":\"v\"";
    return text + "}";
  };
  EXPECT_EQ(taken(R"({"input":"hi","metadata":{"a":"b"}})").options.echo.at("metadata"),
            (json::object{{"a", "b"}}));
  EXPECT_EQ(with(pairs(16)), "200");
  EXPECT_EQ(with(pairs(17)), "metadata invalid_value");
  EXPECT_EQ(with(R"("metadata":{"a":5})"), "metadata invalid_type");
  EXPECT_EQ(with(R"("metadata":[])"), "metadata invalid_type");
  EXPECT_EQ(with(R"("metadata":{"a":")" + std::string(513, 'x') + "\"}"), "metadata invalid_value");
  EXPECT_EQ(with(R"("metadata":{")" + std::string(65, 'x') + "\":\"a\"}"),
            "metadata invalid_value");
}

TEST_F(ResponseRequestTest, WhatAsksForNothingSpecialIsTaken) {
  for (const char* fields :
       {R"("text":{"format":{"type":"text"}})", R"("text":{})", R"("truncation":"disabled")",
        R"("reasoning":null)", R"("reasoning":{})", R"("reasoning":{"effort":null})",
        R"("tools":[],"tool_choice":"auto","parallel_tool_calls":false,"max_tool_calls":3)",
        R"("n":1)", R"("user":"u","safety_identifier":"s","prompt_cache_key":"k")",
        R"("stream_options":{"include_obfuscation":true})", R"("stop":["a"])",
        R"("conversation":null)"}) {
    EXPECT_EQ(with(fields), "200") << fields;
  }
}

TEST_F(ResponseRequestTest, WhatCannotBeDoneIsRefusedByName) {
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("text":{"format":{"type":"xml"}})", "text.format.type unsupported"},
           {R"("text":{"format":{"type":"json_schema"}})",
            "text.format.schema missing_required_parameter"},
           {R"("text":{"format":{"type":"json_schema","name":"n","schema":{}}})", "200"},
           {R"("text":{"format":{"type":"json_object"}})", "200"},
           {R"("text":5)", "text invalid_type"},
           {R"("truncation":"some")", "truncation invalid_value"},
           {R"("truncation":true)", "truncation invalid_type"},
           {R"("background":1)", "background invalid_type"},
           {R"("background":true,"stream":true)", "stream unsupported"},
           {R"("background":true,"store":false)", "store invalid_value"},
           {R"("reasoning":{"effort":"most"})", "reasoning.effort invalid_value"},
           {R"("reasoning":{"budget":1})", "reasoning.budget unknown_parameter"},
           {R"("reasoning":"high")", "reasoning invalid_type"},
           {R"("tools":[{"type":"web_search","external_web_access":false}])", "200"},
           {R"("tools":[{"type":"web_search"}],"tool_choice":"required")",
            "tool_choice unsupported"},
           {R"("tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"})",
            "tool_choice.type unsupported"},
           {R"("tools":[{"type":"search","parameters":{}}])", "tools[0].type unsupported"},
           {R"("tool_choice":"required")", "tool_choice invalid_value"},
           {R"("tool_choice":"any")", "tool_choice unsupported"},
           {R"("n":2)", "n unsupported"},
           {R"("max_output_tokens":0)", "max_output_tokens invalid_value"},
           {R"("max_tokens":5)", "max_tokens unknown_parameter"},
           {R"("messages":[])", "messages unknown_parameter"},
           {R"("conversation":"conv_1")", "conversation unknown_parameter"},
           {R"("prompt":{"id":"x"})", "prompt unknown_parameter"},
           {R"("type":"response.create")", "type unknown_parameter"},
           {R"("model":"other")", "404 model model_not_found"},
           {R"("service_tier":"x")", "service_tier invalid_value"},
           {R"("max_tool_calls":"many")", "max_tool_calls invalid_type"},
           {R"("safety_identifier":5)", "safety_identifier invalid_type"},
           {R"("tool_choice":5)", "tool_choice invalid_type"},
           {R"("temperature":-1)", "temperature invalid_value"},
       }) {
    EXPECT_EQ(with(fields), expected) << fields;
  }
}

class ResponseToolsTest : public ResponseRequestTest {
 public:
  ResponseToolsTest() { *model = tool_model(); }

  static std::string functions_of(const Request& request) {
    std::string names;
    if (request.tools.is_null()) return names;
    for (const json::value& tool : request.tools.as_array()) {
      const json::string& name = tool.at("function").at("name").as_string();
      names.append(names.empty() ? "" : " ").append(name.data(), name.size());
    }
    return names;
  }
  /// Returns the names of the functions that the model is offered.
  std::string offered(const std::string& fields) {
    const ResponseRequest request = taken(R"({"input":"hi",)" + fields + "}");
    return request.parts.empty() ? "" : functions_of(request.parts.front());
  }

  static constexpr std::string_view kTools =
      R"("tools":[{"type":"web_search"},{"type":"function","name":"f","strict":true},)"
      R"({"type":"namespace","name":"mcp__calc","description":"d","tools":[)"
      R"({"type":"function","name":"add","strict":false,"defer_loading":true,"parameters":)"
      R"({"type":"object"}},{"type":"custom","name":"run"}]}])";
};

TEST_F(ResponseToolsTest, FunctionsOfANamespaceAreOfferedWithItsName) {
  const std::string tools(kTools);
  const ResponseRequest request = taken(R"({"input":"hi",)" + tools + "}");
  EXPECT_EQ(functions_of(request.parts.at(0)), "f mcp__calc__add mcp__calc__run");
  const ToolChoice& choice = request.parts[0].tool_choice;
  EXPECT_EQ(choice.strict, std::vector<std::string>{"f"});
  const ToolOrigin add = request.options.tools->of("mcp__calc__add");
  EXPECT_EQ(add.name_space + " " + add.name, "mcp__calc add");
  EXPECT_EQ(request.options.tools->of("mcp__calc__run").kind, ToolKind::kCustom);
  EXPECT_EQ(request.options.tools->of("f").name, "f");
  EXPECT_EQ(json::serialize(request.options.echo.at("tools").at(0)), R"({"type":"web_search"})")
      << "only a function has all fields of a function";
}

TEST_F(ResponseToolsTest, AToolOfANamespaceIsChosenByBothItsNames) {
  const std::string tools(kTools);
  const auto only = [&](const std::string& choice) {
    const auto request = read(R"({"input":"hi",)" + tools + R"(,"tool_choice":)" + choice + "}");
    if (!request) return std::vector<std::string>{verdict(request)};
    return request->parts.at(0).tool_choice.only;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(only(R"({"type":"function","namespace":"mcp__calc","name":"add"})"),
            Names{"mcp__calc__add"});
  EXPECT_EQ(only(R"({"type":"custom","namespace":"mcp__calc","name":"run"})"),
            Names{"mcp__calc__run"});
  EXPECT_EQ(only(R"({"type":"function","name":"add"})"), Names{"tool_choice invalid_value"});
  EXPECT_EQ(only(R"({"type":"allowed_tools","mode":"auto","tools":[{"type":"web_search"},)"
                 R"({"type":"function","name":"f"}]})"),
            Names{"f"});
  EXPECT_EQ(only(R"({"type":"allowed_tools","mode":"required","tools":[{"type":"web_search"}]})"),
            Names{"tool_choice unsupported"});
  EXPECT_EQ(offered(tools + R"(,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":)"
                            R"([{"type":"web_search"}]})"),
            "")
      << "none of those that it may call is offered";
}

TEST_F(ResponseToolsTest, ACustomToolIsAFunctionOfOneText) {
  const ResponseRequest request =
      taken(R"({"input":"hi","tools":[{"type":"custom","name":"patch","description":"Edits.",)"
            R"("format":{"type":"grammar","syntax":"lark","definition":"start: /a/"}}]})");
  const json::value& function = request.parts.at(0).tools.at(0).at("function");
  EXPECT_EQ(function.at("description"),
            "Edits.\n\nThe input follows this Lark grammar:\nstart: /a/");
  EXPECT_EQ(function.at("parameters").at("required"), (json::array{"input"}));
  for (const auto& [format, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"({"type":"text"})", "200"},
           {R"({"type":"grammar","syntax":"regex","definition":"a+"})", "200"},
           {R"({"type":"grammar","syntax":"bnf","definition":"a"})",
            "tools[0].format.syntax unsupported"},
           {R"({"type":"grammar","syntax":"lark"})",
            "tools[0].format.definition missing_required_parameter"},
           {R"({"type":"image"})", "tools[0].format.type unsupported"}}) {
    EXPECT_EQ(with(R"("tools":[{"type":"custom","name":"a","format":)" + format + "}]"), expected)
        << format;
  }
}

TEST_F(ResponseToolsTest, WhatIsWrongWithANamespaceIsNamedByItsPath) {
  for (const auto& [tool, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"({"type":"namespace","tools":[]})", "tools[0].name missing_required_parameter"},
           {R"({"type":"namespace","name":"a"})", "tools[0].tools missing_required_parameter"},
           {R"({"type":"namespace","name":"a","tools":[]})", "200"},
           {R"({"type":"namespace","name":"a","tools":[5]})", "tools[0].tools[0] invalid_type"},
           {R"({"type":"namespace","name":"a b","tools":[]})", "tools[0].name invalid_value"},
           {R"({"type":"namespace","name":"a","tools":[{"type":"function"}]})",
            "tools[0].tools[0].name missing_required_parameter"},
           {R"({"type":"namespace","name":"a","tools":[{"type":"function","name":"f"},)"
            R"({"type":"function","name":"f"}]})",
            "tools[0].tools[1] invalid_value"},
           {R"({"type":"namespace","name":"a","tools":[{"type":"function","name":"f","x":1}]})",
            "tools[0].tools[0].x unknown_parameter"},
           {R"({"type":"namespace","name":"a","tools":[{"type":"namespace","name":"b",)"
            R"("tools":[]}]})",
            "200"}}) {
    EXPECT_EQ(with(R"("tools":[)" + tool + "]"), expected) << tool;
  }
}

TEST_F(ResponseToolsTest, ItemsOfAgentsAreCallsAndResults) {
  EXPECT_EQ(
      messages(
          R"({"input":[{"role":"user","content":"a"},{"type":"function_call","id":"fc_1",)"
          R"("call_id":"c1","namespace":"mcp__calc","name":"add","arguments":"{}"},)"
          R"({"type":"custom_tool_call","call_id":"c2","name":"patch","input":"x\"y"},)"
          R"({"type":"function_call_output","call_id":"c1","output":"1"},)"
          R"({"type":"custom_tool_call_output","call_id":"c2","name":"patch","output":"2"}]})"),
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[)"
      R"({"id":"c1","type":"function","function":{"name":"mcp__calc__add","arguments":{}}},)"
      R"({"id":"c2","type":"function","function":{"name":"patch","arguments":{"input":"x\"y"}}}]},)"
      R"({"role":"tool","content":"1","tool_call_id":"c1","name":"mcp__calc__add"},)"
      R"({"role":"tool","content":"2","tool_call_id":"c2","name":"patch"}])");
}

TEST_F(ResponseToolsTest, ToolsThatItemsBringAreOfferedToo) {
  const std::string search =
      R"({"type":"tool_search","execution":"client","description":"d","parameters":{}})";
  const ResponseRequest request = taken(
      R"({"tools":[)" + search +
      R"(],"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function",)"
      R"("name":"f"}]},{"role":"user","content":"a"},{"type":"tool_search_call","call_id":"c1",)"
      R"("execution":"client","arguments":{"query":"q"}},{"type":"tool_search_output",)"
      R"("call_id":"c1","status":"completed","execution":"client","tools":[{"type":"function",)"
      R"("name":"f"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]}]}]})");
  ASSERT_EQ(request.parts.size(), 1U);
  EXPECT_EQ(functions_of(request.parts[0]), "tool_search f n__g");
  EXPECT_EQ(json::serialize(request.parts[0].messages),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[)"
            R"({"id":"c1","type":"function","function":{"name":"tool_search","arguments":)"
            R"({"query":"q"}}}]},{"role":"tool","content":"Found these tools: f, n__g",)"
            R"("tool_call_id":"c1","name":"tool_search"}])");
  EXPECT_EQ(offered(R"("tools":[{"type":"tool_search"}])"), "") << "the API's own search";
  EXPECT_EQ(refusal(R"({"input":[{"type":"additional_tools","tools":[{"type":"function"}]}]})"),
            "input[0].tools[0].name missing_required_parameter");
}

TEST_F(ResponseRequestTest, TheOldestMessagesMayBeLeftOutWhereThatIsSaid) {
  const ResponseRequest request = taken(R"({"input":"hi","truncation":"auto"})");
  EXPECT_TRUE(request.parts[0].drop_oldest_messages);
  EXPECT_EQ(request.options.echo.at("truncation"), "auto");
  EXPECT_FALSE(taken(R"({"input":"hi"})").parts[0].drop_oldest_messages);
}

/// A response "resp_7" with a question, a thought, an answer and a call.
StoredResponse kept_items(std::string owner) {
  StoredResponse response;
  response.id = "resp_7";
  response.owner = std::move(owner);
  response.object =
      R"({"output":[{"type":"reasoning","id":"rs_7","summary":[],"status":"completed",)"
      R"("content":[{"type":"reasoning_text","text":"hm"}]},)"
      R"({"type":"message","id":"msg_7","role":"assistant","status":"completed",)"
      R"("content":[{"type":"output_text","text":"b","annotations":[],"logprobs":[]}]},)"
      R"({"type":"function_call","id":"fc_7","call_id":"call_1","name":"f","arguments":"{}",)"
      R"("status":"completed"}]})";
  response.conversation = json::parse(R"([{"role":"user","content":"a"},
                                          {"role":"assistant","content":"b"}])")
                              .as_array();
  response.answered = true;
  return response;
}

TEST_F(ResponseRequestTest, ItemsOfKeptResponsesAreReferredToByTheirIds) {
  context.stored = std::make_shared<ResponseStore>(ResponseStore::Bounds{8, 1'000'000});
  context.stored->put(kept_items("somebody"));
  EXPECT_EQ(messages(R"({"input":[{"type":"item_reference","id":"msg_7_i0"},{"id":"rs_7"},)"
                     R"({"type":null,"id":"msg_7"},{"type":"item_reference","id":"fc_7"},)"
                     R"({"type":"function_call_output","call_id":"call_1","output":"c"}]})"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":)"
            R"([{"id":"call_1","type":"function","function":{"name":"f","arguments":{}}}]},)"
            R"({"role":"tool","content":"c","tool_call_id":"call_1","name":"f"}])");
  EXPECT_EQ(refusal(R"({"input":[{"id":"msg_7"},{"id":"msg_7"}]})"), "input[1].id invalid_value")
      << "twice would be text out of nothing";
  EXPECT_EQ(refusal(R"({"input":[{"id":"msg_7_i1"}]})"), "input[0].id invalid_value");
  context.client = "another";
  EXPECT_EQ(refusal(R"({"input":[{"id":"msg_7"}]})"), "input[0].id invalid_value");
}

TEST_F(ResponseRequestTest, ARequestRefersToItemsOfFewResponses) {
  context.stored = std::make_shared<ResponseStore>(ResponseStore::Bounds{64, 1'000'000});
  std::string input;
  for (std::size_t i = 0; i <= ReferencedItems::kMostResponses; ++i) {
    StoredResponse response;
    const std::string name = std::to_string(i);
    response.id = "resp_" + name;
    response.owner = "somebody";
    response.object = R"({"output":[]})";
    response.conversation = json::array{{{"role", "user"}, {"content", "a"}}};
    context.stored->put(std::move(response));
    if (i == ReferencedItems::kMostResponses) {
      EXPECT_EQ(refusal(R"({"input":[)" + input + "]}"), "200");
    }
    input += std::string(i > 0 ? "," : "") + R"({"id":"msg_)" + name + R"(_i0"})";
  }
  EXPECT_EQ(refusal(R"({"input":[)" + input + "]}"), "input[16].id invalid_value");
}

TEST_F(ResponseRequestTest, ACompactionIsWhatWasSaid) {
  EXPECT_EQ(messages(R"({"input":[{"type":"compaction","id":"cmp_1","encrypted_content":"a b"},)"
                     R"({"role":"user","content":"c"}]})"),
            R"([{"role":"assistant","content":"Summary of the conversation so far:\na b"},)"
            R"({"role":"user","content":"c"}])");
}

TEST_F(ResponseRequestTest, ASummaryIsAskedForBehindTheConversation) {
  const auto compact = [this](const std::string& fields) {
    return decode_compaction(body("{" + fields + "}"), context);
  };
  const auto call =
      compact(R"("model":"tiny","instructions":"i","prompt_cache_key":"k","input":[{"role":"user",)"
              R"("content":"a"},{"role":"assistant","content":"b"}])");
  ASSERT_TRUE(call) << verdict(call);
  const Request& request = call->parts.at(0);
  ASSERT_EQ(request.messages.size(), 4U);
  EXPECT_EQ(request.messages[0].at("content"), "i");
  EXPECT_EQ(request.messages[3].at("role"), "user");
  EXPECT_GT(request.max_tokens, 0);
  EXPECT_TRUE(request.clip_max_tokens);
  EXPECT_EQ(request.thinking_budget, 0) << "thoughts would use up the summary's tokens";
  EXPECT_EQ(request.chat_template_kwargs.at("enable_thinking"), false);
  ASSERT_TRUE(call->writer->refuse()) << "nothing was written";
  EXPECT_EQ(call->writer->refuse()->status, 500);
  EventBatch none(Framing::kBody);
  Delta delta;
  delta.text = "b";
  delta.marks = {{0, PieceKind::kText}};
  call->writer->delta(0, delta, none);
  EXPECT_FALSE(call->writer->refuse());
  EXPECT_EQ(compact(R"("model":"tiny","input":"a")")->parts.at(0).messages.size(), 1U)
      << "templates want turns to alternate";
  EXPECT_EQ(verdict(compact(R"("input":"a")")), "model missing_required_parameter");
  EXPECT_EQ(verdict(compact(R"("model":"tiny")")), "input missing_required_parameter");
  EXPECT_EQ(verdict(compact(R"("model":"tiny","input":"a","stream":true)")),
            "stream unknown_parameter");
  EXPECT_EQ(verdict(compact(R"("model":"tiny","input":"a","previous_response_id":"resp_9")")),
            "previous_response_id previous_response_not_found");
}

TEST_F(ResponseRequestTest, InTheBackgroundThereIsADraftAndAReplyAtOnce) {
  context.stored = std::make_shared<ResponseStore>(ResponseStore::Bounds{8, 1'000'000});
  const auto call = decode_response(body(R"({"input":"hi","background":true})"), context);
  ASSERT_TRUE(call) << verdict(call);
  EXPECT_EQ(json::parse(call->reply_now).at("status"), "queued");
  EXPECT_EQ(context.stored->count(), 0U) << "it may be refused yet, and then nothing is left of it";
  ASSERT_TRUE(call->draft);
  EXPECT_EQ(call->draft->id, "resp_42");
  context.stored->put(*call->draft);
  const auto draft = context.stored->find("resp_42", "somebody");
  ASSERT_TRUE(draft);
  EXPECT_FALSE(draft->whole);
  EXPECT_EQ(json::parse(draft->object).at("status"), "in_progress");
  EXPECT_EQ(json::parse(draft->object).at("background"), true);
  EXPECT_EQ(
      verdict(decode_response(body(R"({"input":"hi","previous_response_id":"resp_42"})"), context)),
      "previous_response_id invalid_value");
  context.stored = std::make_shared<ResponseStore>(ResponseStore::Bounds{0, 0});
  EXPECT_EQ(verdict(decode_response(body(R"({"input":"hi","background":true})"), context)),
            "background unsupported")
      << "what is not kept cannot be fetched";
}

TEST_F(ResponseRequestTest, TheEchoSaysWhatHolds) {
  const json::object echo =
      taken(R"({"input":"hi","model":"tiny","max_output_tokens":9,"temperature":0.3,)"
            R"("service_tier":"flex","store":false,"tool_choice":"none","metadata":null,)"
            R"("max_tool_calls":5,"stop":"x","skip_special_tokens":false,"priority":-2,)"
            R"("chat_template_kwargs":{"thinking":true}})")
          .options.echo;
  json::object expected = json::parse(R"({
    "model": "tiny", "instructions": null, "metadata": {},
    "previous_response_id": null, "store": false, "safety_identifier": null,
    "prompt_cache_key": null, "tools": [], "tool_choice": "none", "parallel_tool_calls": true,
    "max_tool_calls": 5, "stop": ["x"], "skip_special_tokens": false, "priority": -2,
    "chat_template_kwargs": {"thinking": true}, "text": {"format": {"type": "text"}}, "truncation": "disabled",
    "reasoning": null, "background": false, "max_output_tokens": 9, "service_tier": "flex",
    "top_logprobs": 0})")
                              .as_object();
  SamplingParams params;
  params.temperature = 0.3F;
  echo_sampling(params, expected);
  EXPECT_EQ(echo, expected);
  const json::object least = taken(R"({"input":"hi"})").options.echo;
  EXPECT_EQ(least.at("max_output_tokens"), nullptr);
  EXPECT_EQ(least.at("service_tier"), "default");
  EXPECT_EQ(least.at("store"), true);
  EXPECT_EQ(least.at("tool_choice"), "auto");
}

TEST_F(ResponseRequestTest, ThePromptOfAnInputIsCountedWithoutAnAnswer) {
  const auto count = [this](const std::string& fields) -> std::string {
    const auto answer = count_input_tokens(body("{" + fields + "}"), context);
    return answer ? *answer : verdict(answer);
  };
  // <s> and a token for each byte of "▁user:hi;go", of which "▁" is one.
  EXPECT_EQ(count(R"("input":"hi")"), R"({"object":"response.input_tokens","input_tokens":12})");
  EXPECT_EQ(count(R"("input":"hi","instructions":"a","tools":[],"truncation":"disabled")"),
            R"({"object":"response.input_tokens","input_tokens":21})");
  EXPECT_EQ(count(R"("input":"hi","previous_response_id":"resp_9")"),
            "previous_response_id previous_response_not_found");
  EXPECT_EQ(count(R"("instructions":"a")"), "input missing_required_parameter");
  // The answer takes 8 of the 64 tokens, so only the last message is left.
  const std::string longer =
      R"("input":[{"role":"user","content":")" + std::string(60, 'h') +
      R"("},{"role":"assistant","content":"a"},{"role":"user","content":"hi"}])";
  EXPECT_EQ(count(longer), R"({"object":"response.input_tokens","input_tokens":90})");
  EXPECT_EQ(count(longer + R"(,"truncation":"auto")"),
            R"({"object":"response.input_tokens","input_tokens":12})");
}

}  // namespace
}  // namespace weft::test
