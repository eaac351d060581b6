#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/net/api/chat/chat_request.h"
#include "weft/tests/net/api/api_fixture.h"
#include "weft/tests/net/api/tool_model.h"

namespace weft::test {
namespace {

namespace json = boost::json;

/// Chat fields of other servers' clients and of older clients.
class OtherClientsChatTest : public ApiFixture {
 public:
  /// Makes a body of one message and these fields.
  static std::string with(const std::string& fields) {
    return R"({"messages":[{"role":"user","content":"hello"}],)" + fields + "}";
  }
  static std::string saying(const std::string& messages) {
    return R"({"messages":)" + messages + "}";
  }
  CompletionRequest taken(const std::string& text) {
    auto request = read_chat(body(text), context);
    EXPECT_TRUE(request) << text << ": " << (request ? "" : request.error().message);
    return request ? *std::move(request) : CompletionRequest{.parts = std::vector<Request>(1)};
  }
  Request part(const std::string& text) { return std::move(taken(text).parts.front()); }
  std::string refusal(const std::string& text) { return verdict(read_chat(body(text), context)); }
  std::string messages(const std::string& text) {
    return json::serialize(part(saying(text)).messages);
  }
};

TEST_F(OtherClientsChatTest, ALastMessageOfTheAssistantsIsContinuedWhereThatIsAsked) {
  const auto asked = [](const std::string& last, const std::string& fields) {
    return R"({"messages":[{"role":"user","content":"a"},)" + last + "]" + fields + "}";
  };
  const std::string last = R"({"role":"assistant","content":"b"})";
  const Request plain = part(asked(last, ""));
  EXPECT_FALSE(plain.continue_final_message);
  EXPECT_TRUE(plain.add_generation_prompt);
  for (const std::string& text :
       {asked(last, R"(,"continue_final_message":true,"add_generation_prompt":false)"),
        asked(last, R"(,"continue_final_message":true)"),
        asked(R"({"role":"assistant","content":"b","prefix":true})", "")}) {
    const Request request = part(text);
    EXPECT_TRUE(request.continue_final_message) << text;
    EXPECT_FALSE(request.add_generation_prompt) << text;
  }
  EXPECT_FALSE(part(with(R"("add_generation_prompt":false)")).add_generation_prompt);
  EXPECT_EQ(messages(R"([{"role":"assistant","content":"b","prefix":true}])"),
            R"([{"role":"assistant","content":"b"}])");
  *model = tool_model();
  EXPECT_EQ(refusal(asked(R"({"role":"assistant","content":"b","tool_calls":[{"id":"1",)"
                          R"("function":{"name":"f","arguments":"{}"}}]})",
                          R"(,"continue_final_message":true)")),
            "continue_final_message invalid_value");
}

TEST_F(OtherClientsChatTest, TakesFunctionsAndTheirCallsByTheirOlderNames) {
  *model = tool_model();
  const std::string functions = R"("functions":[{"name":"f","description":"d",
      "parameters":{"type":"object","properties":{}}}])";
  const CompletionRequest request = taken(with(functions + R"(,"function_call":{"name":"f"})"));
  EXPECT_TRUE(request.options.older_calls);
  const Request& offered = request.parts.front();
  EXPECT_EQ(json::serialize(offered.tools),
            R"([{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object","properties":{}}}}])");
  EXPECT_EQ(offered.tool_choice.only, std::vector<std::string>{"f"});
  EXPECT_FALSE(offered.parallel_tool_calls);
  EXPECT_TRUE(part(with(functions + R"(,"function_call":"none")")).tools.is_null());
  EXPECT_FALSE(part(with(functions + R"(,"function_call":"auto")")).tools.is_null());
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("functions":[{}])", "functions[0].name missing_required_parameter"},
           {R"("functions":[{"name":"f","x":1}])", "functions[0].x unknown_parameter"},
           {R"("functions":[5])", "functions[0] invalid_type"},
           {functions + R"(,"function_call":{"name":"g"})", "function_call invalid_value"},
           {functions + R"(,"function_call":{})",
            "function_call.name missing_required_parameter"}}) {
    EXPECT_EQ(refusal(with(fields)), expected) << fields;
  }
}

TEST_F(OtherClientsChatTest, TakesAHistoryOfFunctionsByTheirOlderNames) {
  *model = tool_model();
  const CompletionRequest request = taken(saying(R"([{"role":"user","content":"a"},
      {"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"x\":1}"}},
      {"role":"function","name":"f","content":"2"}])"));
  EXPECT_FALSE(request.options.older_calls) << "none are offered";
  const json::array& messages = request.parts.front().messages;
  const json::value& call = messages.at(1).at("tool_calls").at(0);
  EXPECT_EQ(call.at("function").at("name"), "f");
  EXPECT_EQ(call.at("function").at("arguments").at("x"), 1);
  EXPECT_EQ(messages.at(2).at("role"), "tool");
  EXPECT_EQ(messages.at(2).at("name"), "f");
  EXPECT_EQ(messages.at(2).at("tool_call_id"), call.at("id"));
}

TEST_F(OtherClientsChatTest, TheSameMayBeSaidOfTheOutputTwice) {
  for (const char* fields :
       {R"("guided_grammar":"start: A","structured_outputs":{"grammar":"start: A"})",
        R"("guided_json":"{ \"type\": \"null\" }","structured_outputs":{"json":{"type":"null"}})",
        R"("guided_regex":"a","regex":"a")", R"("guided_choice":["a","b"],"structured_outputs":
            {"choice":["a","b"]})",
        R"("response_format":{"type":"json_schema","json_schema":{"schema":{"type":"null"}}},
            "guided_json":{"type":"null"})",
        R"("response_format":{"type":"json_object"},"guided_json":{"type":"object"})",
        R"("ebnf":"root ::= x","grammar":"root ::= x")"}) {
    EXPECT_EQ(refusal(with(fields)), "200") << fields;
  }
  const Request narrow = part(with(R"("guided_json":{"type":"object"},"guided_json_object":true)"));
  EXPECT_EQ(narrow.structured_output.kind, StructuredOutput::Kind::kJsonSchema);
  EXPECT_EQ(
      refusal(with(R"("guided_grammar":"start: A","structured_outputs":{"grammar":"start: B"})")),
      "guided_grammar invalid_value");
  EXPECT_EQ(refusal(with(R"("guided_choice":["a"],"structured_outputs":{"choice":["b"]})")),
            "guided_choice invalid_value");
  EXPECT_EQ(
      refusal(with(R"("response_format":{"type":"json_object"},"guided_json":{"type":"null"})")),
      "guided_json invalid_value");
}

TEST_F(OtherClientsChatTest, SaysWhatTheOutputMustLookLikeInTheWordsOfOtherServers) {
  using Kind = StructuredOutput::Kind;
  for (const auto& [fields, kind, text] : std::vector<std::tuple<const char*, Kind, const char*>>{
           {R"("regex":"a+")", Kind::kRegex, "a+"},
           {R"("ebnf":"root ::= x")", Kind::kText, "root ::= x"},
           {R"("grammar":"root ::= x")", Kind::kText, "root ::= x"},
           {R"("json_schema":"{\"type\": \"null\"}")", Kind::kJsonSchema, R"({"type":"null"})"},
           {R"("json_schema":{"type":"null"})", Kind::kJsonSchema, R"({"type":"null"})"},
           {R"("response_format":{"type":"grammar","grammar":"root ::= x"})", Kind::kText,
            "root ::= x"},
           {R"("response_format":{"type":"regex","pattern":"a+"})", Kind::kRegex, "a+"}}) {
    const StructuredOutput output = part(with(fields)).structured_output;
    EXPECT_EQ(output.kind, kind) << fields;
    EXPECT_EQ(output.text, text) << fields;
  }
}

}  // namespace
}  // namespace weft::test
