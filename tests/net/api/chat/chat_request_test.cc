#include "weft/net/api/chat/chat_request.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/tests/net/api/api_fixture.h"
#include "weft/tests/net/api/tool_model.h"
#include "weft/text/chat/template_variables.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class ChatRequestTest : public ApiFixture {
 public:
  void use_template(std::string text) {
    Vocabulary vocabulary = tiny_vocabulary();
    vocabulary.chat_template = std::move(text);
    model->tokenizer = Tokenizer::from_vocabulary(vocabulary, "tiny").value();
    model->chat = ChatEncoder(model->tokenizer);
    model->format = ModelFormat::find(model->tokenizer);
  }
  /// Makes a body of one message and these fields.
  static std::string with(const std::string& fields) {
    const std::string more = fields.empty() ? "" : "," + fields;
    return R"({"messages":[{"role":"user","content":"hello"}])" + more + "}";
  }
  static std::string saying(const std::string& messages) {
    return R"({"messages":)" + messages + "}";
  }
  ApiResult<CompletionRequest> read(const std::string& text) {
    return read_chat(body(text), context);
  }
  CompletionRequest taken(const std::string& text) {
    auto request = read(text);
    EXPECT_TRUE(request) << text << ": " << (request ? "" : request.error().message);
    if (!request) return {};
    EXPECT_EQ(request->parts.size(), 1U);
    return *std::move(request);
  }
  Request part(const std::string& text) {
    CompletionRequest request = taken(text);
    return request.parts.empty() ? Request() : std::move(request.parts.front());
  }
  std::string refusal(const std::string& text) { return verdict(read(text)); }
  std::string messages(const std::string& text) {
    return json::serialize(part(saying(text)).messages);
  }
};

TEST_F(ChatRequestTest, TheLeastIsAMessage) {
  const CompletionRequest request = taken(with(""));
  const Request& part = request.parts.front();
  EXPECT_EQ(json::serialize(part.messages), R"([{"role":"user","content":"hello"}])");
  EXPECT_EQ(part.max_tokens, 0) << "as many as the context has room for";
  EXPECT_EQ(part.sampling.n, 1);
  EXPECT_EQ(part.sampling.temperature, 1);
  EXPECT_FALSE(part.sampling.logprobs);
  EXPECT_TRUE(part.skip_special_tokens);
  EXPECT_EQ(part.request_class, RequestClass::kChat);
  EXPECT_EQ(part.client, "somebody");
  EXPECT_EQ(part.timeout, std::chrono::milliseconds(500));
  EXPECT_EQ(request.options.id, "chatcmpl-42");
  EXPECT_EQ(request.options.created, 1000);
  EXPECT_EQ(request.options.model, "tiny");
  EXPECT_EQ(request.options.service_tier, "");
  EXPECT_FALSE(request.options.stream);
  EXPECT_EQ(request.options.outputs_per_part, 1);
}

TEST_F(ChatRequestTest, TheModelIsTheOneThatIsServed) {
  EXPECT_EQ(taken(with(R"("model":"tiny")")).options.model, "tiny");
  EXPECT_EQ(taken(with(R"("model":"tiny")")).options.model, "tiny");
  EXPECT_EQ(taken(with(R"("model":null)")).options.model, "tiny");
  EXPECT_EQ(refusal(with(R"("model":"other")")), "404 model model_not_found");
  EXPECT_EQ(refusal(with(R"("model":"")")), "404 model model_not_found");
  EXPECT_EQ(refusal(with(R"("model":5)")), "model invalid_type");
}

TEST_F(ChatRequestTest, MessagesAreObjectsWithARoleAndAText) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "messages missing_required_parameter"},
           {R"({"messages":null})", "messages missing_required_parameter"},
           {saying("[]"), "messages invalid_value"},
           {saying("{}"), "messages invalid_type"},
           {saying("\"hello\""), "messages invalid_type"},
           {saying("[1]"), "messages[0] invalid_type"},
           {saying("[null]"), "messages[0] invalid_type"},
           {saying("[[]]"), "messages[0] invalid_type"},
           {saying(R"([{"content":"x"}])"), "messages[0].role missing_required_parameter"},
           {saying(R"([{"role":null,"content":"x"}])"),
            "messages[0].role missing_required_parameter"},
           {saying(R"([{"role":1,"content":"x"}])"), "messages[0].role invalid_type"},
           {saying(R"([{"role":"robot","content":"x"}])"), "messages[0].role invalid_value"},
           {saying(R"([{"role":"user"}])"), "messages[0].content missing_required_parameter"},
           {saying(R"([{"role":"user","content":null}])"),
            "messages[0].content missing_required_parameter"},
           {saying(R"([{"role":"user","content":5}])"), "messages[0].content invalid_type"},
           {saying(R"([{"role":"user","content":{}}])"), "messages[0].content invalid_type"},
           {saying(R"([{"role":"user","content":[]}])"), "messages[0].content invalid_value"},
           {saying(R"([{"role":"user","content":"x"},{"role":"user","content":"x","mood":1}])"),
            "messages[1].mood unknown_parameter"},
           {saying(R"([{"role":"assistant","tool_calls":[{"id":"1"}]}])"),
            "messages[0].tool_calls[0].function missing_required_parameter"},
       }) {
    EXPECT_EQ(refusal(text), expected) << text;
  }
}

TEST_F(ChatRequestTest, PartsAreTextsAndNothingElse) {
  const auto parts = [](const std::string& list) {
    return saying(R"([{"role":"user","content":[)" + list + "]}]");
  };
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"text","text":"a"},)"
                     R"({"type":"text","text":"b","cache_control":{}}]}])"),
            R"([{"role":"user","content":[{"type":"text","text":"a"},)"
            R"({"type":"text","text":"b"}]}])")
      << "the template joins them";
  const std::string type = "messages[0].content[1].type unsupported";
  for (const char* name : {"image_url", "input_audio", "file", "video_url", "refusal"}) {
    EXPECT_EQ(refusal(parts(R"({"type":"text","text":"a"},{"type":")" + std::string(name) +
                            R"(","image_url":{"url":"http://10.0.0.1/x.png"}})")),
              type);
  }
  const std::string first = "messages[0].content[0]";
  EXPECT_EQ(refusal(parts("\"a\"")), first + " invalid_type");
  EXPECT_EQ(refusal(parts("null")), first + " invalid_type");
  EXPECT_EQ(refusal(parts(R"({"text":"a"})")), first + ".type missing_required_parameter");
  EXPECT_EQ(refusal(parts(R"({"type":"text"})")), first + ".text missing_required_parameter");
  EXPECT_EQ(refusal(parts(R"({"type":"text","text":1})")), first + ".text invalid_type");
  EXPECT_EQ(refusal(parts(R"({"type":"text","text":"a","x":1})")), first + ".x unknown_parameter");
}

TEST_F(ChatRequestTest, OnlyAnAssistantMaySayNothing) {
  EXPECT_EQ(messages(R"([{"role":"assistant","content":null,"refusal":null,"tool_calls":[],)"
                     R"("annotations":[]},{"role":"assistant"}])"),
            R"([{"role":"assistant","content":""},{"role":"assistant","content":""}])");
}

TEST_F(ChatRequestTest, NamesAreIgnoredButOfToolsMessages) {
  EXPECT_EQ(messages(R"([{"role":"tool","content":"4","tool_call_id":"c1","name":"sum"}])"),
            R"([{"role":"tool","content":"4","tool_call_id":"c1","name":"sum"}])");
  EXPECT_EQ(messages(R"([{"role":"user","content":"4","name":"Ada"}])"),
            R"([{"role":"user","content":"4"}])");
}

TEST_F(ChatRequestTest, CallsInHistoriesHaveObjectsAsArguments) {
  const auto calls = [](const std::string& arguments) {
    return R"([{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",)"
           R"("function":{"name":"sum","arguments":)" +
           arguments + "}}]}";
  };
  const std::string given = R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c1",)"
                            R"("type":"function","function":{"name":"sum","arguments":)";
  const std::string result = R"(,{"role":"tool","content":"4","tool_call_id":"c1","name":"sum"}])";
  EXPECT_EQ(messages(given +
                     R"("{\"a\": [3, 1]}"}}]},{"role":"tool","tool_call_id":"c1","content":"4"}])"),
            calls(R"({"a":[3,1]})") + result);
  EXPECT_EQ(messages(given + R"(""}}]}])"), calls("{}") + "]");
  // Malformed arguments of a model stay unchanged.
  EXPECT_EQ(messages(given + R"("{\"a\": "}}]}])"), calls(R"("{\"a\": ")") + "]");
  EXPECT_EQ(messages(given + R"("[3]"}}]}])"), calls(R"("[3]")") + "]");
  // Some programs send JSON in place of its text.
  EXPECT_EQ(messages(given + R"({"a":[3,1]}}}]}])"), calls(R"({"a":[3,1]})") + "]");
  EXPECT_EQ(messages(given + R"(null}}]}])"), calls("{}") + "]");
  EXPECT_EQ(messages(given + R"([]}}]}])"), calls("[]") + "]");
}

TEST_F(ChatRequestTest, ToolsAreFunctionsForATemplateThatKnowsThem) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"now"}}])";
  EXPECT_EQ(refusal(with(tools)), "tools unsupported") << "the template has none";
  use_template("{{ tools }}");
  EXPECT_EQ(refusal(with(tools)), "tools unsupported") << "how it writes calls is not known";
  use_template("{{ tools }}<tool_call>");
  const Request request = part(with(tools));
  EXPECT_TRUE(request.typed_output);
  EXPECT_EQ(json::serialize(request.tools),
            R"([{"type":"function","function":{"name":"now","parameters":)"
            R"({"type":"object","properties":{}}}}])");
  EXPECT_TRUE(part(with(tools + R"(,"tool_choice":"none")")).tools.is_null());
  EXPECT_FALSE(part(with(tools + R"(,"parallel_tool_calls":false)")).parallel_tool_calls);
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("tools":[{"type":"web_search"}])", "200"},
           {R"("tools":[{"type":"web_search"}],"tool_choice":"required")",
            "tool_choice unsupported"},
           {R"("tools":[{"type":"custom","custom":{"name":"a"}}])", "tools[0].type unsupported"},
           {R"("tools":[{"type":"fnction","function":{"name":"a"}}])", "tools[0].type unsupported"},
           {tools + R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto",)"
                    R"("tools":[{"type":5}]}})",
            "tool_choice.allowed_tools.tools[0].type invalid_type"},
           {R"("tools":[{"type":"function","function":{"name":"a b"}}])",
            "tools[0].function.name invalid_value"},
           {R"("tools":[{"type":"function","function":{"name":"a","parameters":[]}}])",
            "tools[0].function.parameters invalid_type"},
           {R"("tools":[{"type":"function","function":{"name":"a"}},)"
            R"({"type":"function","function":{"name":"a"}}])",
            "tools[1] invalid_value"},
           {tools + R"(,"tool_choice":"any")", "tool_choice unsupported"},
           {tools + R"(,"tool_choice":{"type":"custom"})", "tool_choice.type unsupported"},
           {tools + R"(,"tool_choice":{"type":"function"})",
            "tool_choice.function missing_required_parameter"},
           {tools + R"(,"tool_choice":{"type":"function","function":{"name":"later"}})",
            "tool_choice invalid_value"},
           {tools + R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto"}})",
            "tool_choice.allowed_tools.tools missing_required_parameter"},
       }) {
    EXPECT_EQ(refusal(with(fields)), expected) << fields;
  }
  std::string many;
  for (int i = 0; i < 257; ++i) {
    many += (i == 0 ? "" : ",") +
            (R"({"type":"function","function":{"name":"f)" + std::to_string(i) + R"("}})");
  }
  EXPECT_EQ(refusal(with("\"tools\":[" + many + "]")), "tools invalid_value");
}

TEST_F(ChatRequestTest, AChoiceOfToolsIsWhatTheRequestSaysOfThem) {
  *model = tool_model();
  const std::string tools =
      R"("tools":[{"type":"function","function":{"name":"now","strict":true}},)"
      R"({"type":"function","function":{"name":"look","strict":false}}])";
  const auto choice = [&](const std::string& said) {
    return part(with(tools + (said.empty() ? "" : ",\"tool_choice\":" + said))).tool_choice;
  };
  using Mode = ToolChoice::Mode;
  const std::vector<std::string> now = {"now"};
  EXPECT_EQ(choice("").mode, Mode::kAuto);
  EXPECT_EQ(choice("").strict, now);
  EXPECT_EQ(choice("").schema_name, "function.parameters");
  EXPECT_EQ(choice(R"("required")").mode, Mode::kRequired);
  EXPECT_TRUE(choice(R"("required")").only.empty());
  const ToolChoice named = choice(R"({"type":"function","function":{"name":"now"}})");
  EXPECT_EQ(named.mode, Mode::kRequired);
  EXPECT_EQ(named.only, now);
  const ToolChoice some =
      choice(R"({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[)"
             R"({"type":"function","function":{"name":"now"}}]}})");
  EXPECT_EQ(some.mode, Mode::kAuto);
  EXPECT_EQ(some.only, now);
  EXPECT_FALSE(choice(R"("none")").constrains());
}

TEST_F(ChatRequestTest, ThoughtsMayHaveABudget) {
  const auto budget = [&](const std::string& fields) { return part(with(fields)).thinking_budget; };
  EXPECT_EQ(budget(R"("n":1)"), -1);
  EXPECT_EQ(budget(R"("thinking_token_budget":0)"), 0);
  EXPECT_EQ(budget(R"("thinking_budget":100)"), 100);
  EXPECT_EQ(budget(R"("thinking":{"type":"enabled","budget_tokens":7})"), 7);
  EXPECT_EQ(budget(R"("thinking":{"type":"enabled"})"), -1);
  EXPECT_EQ(refusal(with(R"("thinking_budget":-2)")), "thinking_budget invalid_value");
  EXPECT_EQ(refusal(with(R"("thinking_token_budget":1,"thinking_budget":2)")),
            "thinking_budget invalid_value");
}

TEST_F(ChatRequestTest, HowHardToThinkIsToldToTheTemplate) {
  const auto variables = [&](const std::string& fields) {
    return json::serialize(part(with(fields)).chat_template_kwargs);
  };
  constexpr const char* kThinks =
      R"({"reasoning_effort":"low","enable_thinking":true,"thinking":true})";
  EXPECT_EQ(variables(R"("reasoning_effort":"low")"), kThinks);
  EXPECT_EQ(variables(R"("reasoning_effort":"minimal")"),
            R"({"reasoning_effort":"minimal","enable_thinking":false,"thinking":false})");
  EXPECT_EQ(variables(R"("reasoning_effort":"none")"),
            R"({"reasoning_effort":"none","enable_thinking":false,"thinking":false})");
  EXPECT_EQ(variables(R"("reasoning_effort":"none","chat_template_kwargs":{"thinking":true})"),
            R"({"thinking":true,"reasoning_effort":"none","enable_thinking":false})");
  EXPECT_EQ(refusal(with(R"("reasoning_effort":"most")")), "reasoning_effort invalid_value");
  use_template("{% if reasoning_effort %}{{ reasoning_effort }}{% endif %}");
  EXPECT_EQ(variables(R"("reasoning_effort":"minimal")"), R"({"reasoning_effort":"minimal"})");
  EXPECT_EQ(variables(R"("reasoning_effort":"low")"), R"({"reasoning_effort":"low"})");
}

TEST_F(ChatRequestTest, ATemplateThatCannotBeToldNotToThinkGetsNoTokensForIt) {
  const auto budget = [&](const std::string& fields) { return part(with(fields)).thinking_budget; };
  use_template("{{ messages[0].content }}<think>");
  EXPECT_EQ(budget(R"("reasoning_effort":"none")"), 0);
  EXPECT_EQ(budget(R"("reasoning_effort":"minimal")"), 0);
  EXPECT_EQ(budget(R"("reasoning_effort":"low")"), -1);
  EXPECT_EQ(budget(R"("reasoning_effort":"none","thinking_budget":7)"), 7);
  use_template("{% if enable_thinking %}<think>{% endif %}");
  EXPECT_EQ(budget(R"("reasoning_effort":"none")"), -1);
}

TEST_F(ChatRequestTest, ADeveloperIsTheSystemWhereTheTemplateDoesNotKnowIt) {
  const char* text = R"([{"role":"developer","content":"x"},{"role":"system","content":"y"}])";
  EXPECT_EQ(messages(text), R"([{"role":"system","content":"x"},{"role":"system","content":"y"}])");
  Vocabulary vocabulary = tiny_vocabulary();
  vocabulary.chat_template = "{% if messages[0].role == 'developer' %}d{% endif %}";
  model->tokenizer = Tokenizer::from_vocabulary(vocabulary, "tiny").value();
  EXPECT_EQ(messages(text),
            R"([{"role":"developer","content":"x"},{"role":"system","content":"y"}])");
}

TEST_F(ChatRequestTest, AModelWhoseTemplateIsWrongIsToBlameAndNotTheMessages) {
  model->chat = ChatEncoder(model->tokenizer, "{{ bos_token }}\n{% for m messages %}");
  const auto refused = read(with(""));
  EXPECT_EQ(verdict(refused), "- unsupported");
  EXPECT_THAT(refused.error().message, testing::AllOf(testing::HasSubstr("this model cannot chat"),
                                                      testing::HasSubstr("chat_template:2:")));
}

TEST_F(ChatRequestTest, AConversationIsBounded) {
  const auto many = [](std::size_t count, const std::string& entry) {
    std::string list = "[" + entry;
    for (std::size_t i = 1; i < count; ++i) list += "," + entry;
    return list + "]";
  };
  const std::string message = R"({"role":"user","content":""})";
  EXPECT_EQ(refusal(saying(many(defaults::kMaxMessages, message))), "200");
  EXPECT_EQ(refusal(saying(many(defaults::kMaxMessages + 1, message))), "messages invalid_value");
  const std::string part = R"({"type":"text","text":""})";
  const auto parts = [&](std::size_t count) {
    return saying(R"([{"role":"user","content":)" + many(count, part) + "}]");
  };
  EXPECT_EQ(refusal(parts(defaults::kMaxContentParts)), "200");
  EXPECT_EQ(refusal(parts(defaults::kMaxContentParts + 1)), "messages[0].content invalid_value");
}

TEST_F(ChatRequestTest, TheNewerNameOfTheTokenBoundWins) {
  EXPECT_EQ(part(with(R"("max_tokens":7)")).max_tokens, 7);
  EXPECT_EQ(part(with(R"("max_completion_tokens":8)")).max_tokens, 8);
  EXPECT_EQ(part(with(R"("max_tokens":7,"max_completion_tokens":8)")).max_tokens, 8);
  EXPECT_EQ(part(with(R"("max_tokens":null)")).max_tokens, 0);
  EXPECT_EQ(refusal(with(R"("max_tokens":0)")), "max_tokens invalid_value");
  EXPECT_EQ(refusal(with(R"("max_tokens":-1)")), "max_tokens invalid_value");
  EXPECT_EQ(refusal(with(R"("max_tokens":4294967296)")), "max_tokens invalid_value");
  EXPECT_EQ(refusal(with(R"("max_completion_tokens":1.5)")), "max_completion_tokens invalid_type");
}

TEST_F(ChatRequestTest, StreamsCanEndWithUsage) {
  EXPECT_TRUE(taken(with(R"("stream":true)")).options.stream);
  EXPECT_FALSE(taken(with(R"("stream":true)")).options.include_usage);
  const char* usage = R"("stream_options":{"include_usage":true,"include_obfuscation":false})";
  EXPECT_TRUE(taken(with(R"("stream":true,)" + std::string(usage))).options.include_usage);
  EXPECT_FALSE(taken(with(usage)).options.include_usage) << "a plain answer always has it";
  EXPECT_EQ(refusal(with(R"("stream":"yes")")), "stream invalid_type");
  EXPECT_EQ(refusal(with(R"("stream_options":[])")), "stream_options invalid_type");
  EXPECT_EQ(refusal(with(R"("stream_options":{"include_usage":1})")),
            "stream_options.include_usage invalid_type");
  EXPECT_EQ(refusal(with(R"("stream_options":{"x":1})")), "stream_options.x unknown_parameter");
}

TEST_F(ChatRequestTest, StopStringsAreFewAndShort) {
  EXPECT_EQ(part(with(R"("stop":"a")")).stop, (std::vector<std::string>{"a"}));
  EXPECT_EQ(part(with(R"("stop":["a","b"])")).stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(part(with(R"("stop":[])")).stop.empty());
  EXPECT_TRUE(part(with(R"("stop":null)")).stop.empty());
  EXPECT_EQ(refusal(with(R"("stop":"")")), "stop[0] invalid_value");
  EXPECT_EQ(refusal(with(R"("stop":["a",""])")), "stop[1] invalid_value");
  EXPECT_EQ(refusal(with(R"("stop":5)")), "stop invalid_type");
  EXPECT_EQ(refusal(with(R"("stop":["a",5])")), "stop[1] invalid_type");
  EXPECT_EQ(refusal(with(R"("stop":")" + std::string(256, 'x') + "\"")), "200");
  EXPECT_EQ(refusal(with(R"("stop":")" + std::string(257, 'x') + "\"")), "stop[0] invalid_value");
  std::string list = R"("stop":["a")";
  for (int i = 1; i < 16; ++i) list += ",\"a\"";
  EXPECT_EQ(refusal(with(list + "]")), "200");
  EXPECT_EQ(refusal(with(list + ",\"a\"]")), "stop[16] invalid_value");
  for (int i = 0; i < 10'000; ++i) list += ",\"a\"";
  EXPECT_EQ(refusal(with(list + "]")), "stop[16] invalid_value");
}

TEST_F(ChatRequestTest, LogprobsAreOfTheChosenTokensAndSomeMore) {
  const CompletionRequest five = taken(with(R"("logprobs":true,"top_logprobs":5,"n":2)"));
  EXPECT_TRUE(five.options.logprobs);
  EXPECT_EQ(five.options.top_logprobs, 5);
  EXPECT_EQ(five.options.outputs_per_part, 2);
  EXPECT_TRUE(five.parts.front().sampling.logprobs);
  EXPECT_EQ(five.parts.front().sampling.top_logprobs, 5);
  EXPECT_EQ(refusal(with(R"("logprobs":true)")), "200");
  EXPECT_EQ(refusal(with(R"("logprobs":false,"top_logprobs":0)")), "200");
  EXPECT_EQ(refusal(with(R"("top_logprobs":5)")), "top_logprobs invalid_value");
  EXPECT_EQ(refusal(with(R"("logprobs":true,"top_logprobs":21)")), "top_logprobs invalid_value");
  EXPECT_EQ(refusal(with(R"("logprobs":true,"top_logprobs":-1)")), "top_logprobs invalid_value");
  EXPECT_EQ(refusal(with(R"("logprobs":5)")), "logprobs invalid_type");
}

TEST_F(ChatRequestTest, TheServiceTierIsTheClass) {
  const auto tier = [this](const std::string& name) {
    const CompletionRequest request = taken(with(R"("service_tier":")" + name + "\""));
    return request.options.service_tier + " " +
           std::string(to_string(request.parts.front().request_class));
  };
  EXPECT_EQ(tier("auto"), "default chat");
  EXPECT_EQ(tier("default"), "default chat");
  EXPECT_EQ(tier("priority"), "priority chat");
  EXPECT_EQ(tier("flex"), "flex batch");
  EXPECT_EQ(tier("batch"), "batch batch");
  EXPECT_EQ(refusal(with(R"("service_tier":"scale")")), "service_tier invalid_value");
  EXPECT_EQ(refusal(with(R"("service_tier":1)")), "service_tier invalid_type");
}

TEST_F(ChatRequestTest, AKeyMayBeForBatchesAlone) {
  context.class_ceiling = RequestClass::kBatch;
  EXPECT_EQ(part(with("")).request_class, RequestClass::kBatch);
  const CompletionRequest lowered = taken(with(R"("service_tier":"priority")"));
  EXPECT_EQ(lowered.parts.front().request_class, RequestClass::kBatch);
  EXPECT_EQ(lowered.options.service_tier, "flex");
}

TEST_F(ChatRequestTest, PriorityIsAnyNumberOfThirtyTwoBits) {
  EXPECT_EQ(part(with(R"("priority":-5)")).priority, -5);
  EXPECT_EQ(refusal(with(R"("priority":2147483648)")), "priority invalid_value");
}

TEST_F(ChatRequestTest, ARequestSaysHowItsTokensMayBeGuessed) {
  const auto wish = [this](const std::string& value) {
    return part(with(R"("speculation":)" + value)).speculation;
  };
  EXPECT_FALSE(wish("null").kind);
  EXPECT_FALSE(wish("{}").kind);
  EXPECT_EQ(wish("{}").max_tokens, 0);
  EXPECT_EQ(wish(R"({"kind":"off"})").kind, SpeculationKind::kOff);
  EXPECT_EQ(wish(R"({"kind":"suffix"})").kind, SpeculationKind::kSuffix);
  EXPECT_EQ(wish(R"({"max_tokens":64})").max_tokens, 64);
  const auto verdict_of = [this](const std::string& value) {
    return refusal(with(R"("speculation":)" + value));
  };
  EXPECT_EQ(verdict_of(R"("off")"), "speculation invalid_type");
  EXPECT_EQ(verdict_of(R"({"kind":"ngram"})"), "speculation.kind invalid_value");
  EXPECT_EQ(verdict_of(R"({"max_tokens":0})"), "speculation.max_tokens invalid_value");
  EXPECT_EQ(verdict_of(R"({"max_tokens":65})"), "speculation.max_tokens invalid_value");
  EXPECT_EQ(verdict_of(R"({"most":1})"), "speculation.most unknown_parameter");
}

TEST_F(ChatRequestTest, ARequestMayTakeAnyGuessThatItsSamplersLeave) {
  const auto acceptance = [this](const std::string& fields) {
    return part(with(fields)).sampling.guess_acceptance;
  };
  EXPECT_EQ(acceptance(R"("speculation":{})"), GuessAcceptance::kExact);
  EXPECT_EQ(acceptance(R"("speculation":{"accept":"exact"})"), GuessAcceptance::kExact);
  EXPECT_EQ(acceptance(R"("top_p":0.9,"speculation":{"accept":"lossy_top"})"),
            GuessAcceptance::kLossyTop);
  const auto verdict_of = [this](const std::string& fields) {
    return refusal(with(fields + R"(,"speculation":{"accept":"lossy_top"})"));
  };
  EXPECT_EQ(verdict_of(R"("top_p":0.9,"temperature":0)"), "speculation.accept invalid_value");
  EXPECT_EQ(verdict_of(R"("top_p":1)"), "speculation.accept invalid_value");
  EXPECT_EQ(verdict_of(R"("top_k":5,"fsd_alpha":0.5)"), "speculation.accept invalid_value");
  EXPECT_EQ(refusal(with(R"("speculation":{"accept":"any"})")), "speculation.accept invalid_value");
}

TEST_F(ChatRequestTest, WhatAsksForNothingSpecialIsTaken) {
  for (const char* fields :
       {R"("response_format":{"type":"text"})", R"("tools":[])", R"("tools":null)",
        R"("tool_choice":"none")", R"("tool_choice":"auto")", R"("functions":[])",
        R"("function_call":"none")", R"("modalities":["text"])",
        R"("include_stop_str_in_output":false)", R"("add_generation_prompt":true)",
        R"("continue_final_message":false)", R"("skip_special_tokens":true)",
        R"("user":"u","metadata":{"a":"b"},"store":true,"safety_identifier":"s")",
        R"("prompt_cache_key":"k","prompt_cache_retention":"24h","parallel_tool_calls":true)",
        R"("request_id":"r","prediction":null)", R"("something_of_tomorrow":null)"}) {
    EXPECT_EQ(refusal(with(fields)), "200") << fields;
  }
  EXPECT_FALSE(part(with(R"("skip_special_tokens":false)")).skip_special_tokens);
}

TEST_F(ChatRequestTest, SaysWhatTheOutputMustLookLike) {
  using Kind = StructuredOutput::Kind;
  struct Row {
    const char* fields;
    Kind kind;
    const char* text;
    const char* name;
  };
  for (const Row& row : {
           Row{R"("response_format":{"type":"json_object"})", Kind::kJsonObject, "",
               "response_format"},
           Row{R"("response_format":{"type":"json_object","schema":{"type":"null"}})",
               Kind::kJsonSchema, R"({"type":"null"})", "response_format.schema"},
           Row{R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,
               "description":"d","schema":{"b":1,"a":2}}})",
               Kind::kJsonSchema, R"({"b":1,"a":2})", "response_format.json_schema.schema"},
           Row{R"("structured_outputs":{"json":"{}"})", Kind::kJsonSchema, "{}",
               "structured_outputs.json"},
           Row{R"("structured_outputs":{"regex":"a+","json":null})", Kind::kRegex, "a+",
               "structured_outputs.regex"},
           Row{R"("structured_outputs":{"grammar":"start: A"})", Kind::kText, "start: A",
               "structured_outputs.grammar"},
           Row{R"("structured_outputs":{"json_object":true})", Kind::kJsonObject, "",
               "structured_outputs.json_object"},
           Row{R"("guided_json":{"type":"null"},"guided_decoding_backend":"xgrammar")",
               Kind::kJsonSchema, R"({"type":"null"})", "guided_json"},
           Row{R"("guided_grammar":"root ::= x")", Kind::kText, "root ::= x", "guided_grammar"},
           Row{R"("structured_outputs":{},"guided_json_object":false)", Kind::kNone, "",
               "structured_output"},
       }) {
    const StructuredOutput output = part(with(row.fields)).structured_output;
    EXPECT_EQ(output.kind, row.kind) << row.fields;
    EXPECT_EQ(output.text, row.text) << row.fields;
    EXPECT_EQ(output.name, row.name) << row.fields;
  }
  const Request choice = part(with(R"("guided_choice":["yes","no"])"));
  EXPECT_EQ(choice.structured_output.kind, Kind::kChoice);
  EXPECT_EQ(choice.structured_output.choices, (std::vector<std::string>{"yes", "no"}));
}

TEST_F(ChatRequestTest, ASchemaIsStrictWhereTheRequestSaysSo) {
  const auto is_strict = [&](const char* fields) {
    return part(with(fields)).structured_output.strict;
  };
  EXPECT_TRUE(is_strict(
      R"("response_format":{"type":"json_schema","json_schema":{"strict":true,"schema":{}}})"));
  EXPECT_FALSE(is_strict(
      R"("response_format":{"type":"json_schema","json_schema":{"strict":false,"schema":{}}})"));
  EXPECT_FALSE(
      is_strict(R"("response_format":{"type":"json_schema","json_schema":{"schema":{}}})"));
  EXPECT_FALSE(is_strict(R"("response_format":{"type":"json_object","schema":{}})"));
  EXPECT_FALSE(is_strict(R"("guided_json":{})"));
}

TEST_F(ChatRequestTest, WhatCannotBeDoneIsRefusedByName) {
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("response_format":{"type":"xml"})", "response_format.type unsupported"},
           {R"("response_format":{"type":"grammar"})",
            "response_format.grammar missing_required_parameter"},
           {R"("response_format":{"type":"regex"})",
            "response_format.pattern missing_required_parameter"},
           {R"("response_format":{"type":"json_schema"})",
            "response_format.json_schema missing_required_parameter"},
           {R"("response_format":{"type":"json_schema","json_schema":{}})",
            "response_format.json_schema.schema missing_required_parameter"},
           {R"("response_format":{"type":"json_schema","json_schema":{"schema":5}})",
            "response_format.json_schema.schema invalid_type"},
           {R"("response_format":{"type":"json_schema","json_schema":{"schema":{},"extra":1}})",
            "response_format.json_schema.extra unknown_parameter"},
           {R"("response_format":{"type":"json_object"},"guided_regex":"a")",
            "guided_regex invalid_value"},
           {R"("structured_outputs":{"structural_tag":"x"})",
            "structured_outputs.structural_tag unknown_parameter"},
           {R"("structured_outputs":{"regex":"a","choice":["b"]})",
            "structured_outputs.choice invalid_value"},
           {R"("guided_choice":["a",5])", "guided_choice[1] invalid_type"},
           {R"("guided_json":5)", "guided_json invalid_type"},
           {R"("response_format":{})", "response_format.type missing_required_parameter"},
           {R"("response_format":"text")", "response_format invalid_type"},
           {R"("tools":[{"type":"function"}])", "tools[0].function missing_required_parameter"},
           {R"("tools":{})", "tools invalid_type"},
           {R"("tool_choice":"required")", "tool_choice invalid_value"},
           {R"("tool_choice":{"type":"function"})",
            "tool_choice.function missing_required_parameter"},
           {R"("functions":[{"name":"f"}])", "functions unsupported"},
           {R"("functions":[{"name":"f"}],"tools":[{"type":"function"}])",
            "functions invalid_value"},
           {R"("function_call":{"name":"f"})", "function_call unsupported"},
           {R"("modalities":["text","audio"])", "modalities unsupported"},
           {R"("include_stop_str_in_output":true)", "include_stop_str_in_output unsupported"},
           {R"("continue_final_message":true)", "continue_final_message invalid_value"},
           {R"("continue_final_message":true,"add_generation_prompt":true)",
            "add_generation_prompt invalid_value"},
           {R"("echo":true)", "echo unsupported"},
           {R"("chat_template":"{{ 1 }}")", "chat_template unsupported"},
           {R"("audio":{"voice":"x"})", "audio unknown_parameter"},
           {R"("n_discard":-1)", "n_discard unknown_parameter"},
           {R"("top_n_sigma":1)", "top_n_sigma unknown_parameter"},
       }) {
    EXPECT_EQ(refusal(with(fields)), expected) << fields;
  }
}

TEST_F(ChatRequestTest, TemplateKwargsCannotStandInForTheServers) {
  for (const std::string_view name : {"enable_thinking", "documents", "nobody_reads_it"}) {
    const std::string kwargs = "{\"" + std::string(name) + "\":false}";
    const Request request = part(with("\"chat_template_kwargs\":" + kwargs));
    EXPECT_EQ(json::serialize(request.chat_template_kwargs), kwargs);
  }
  for (const std::string_view name : kServerTemplateVariables) {
    const std::string param = "chat_template_kwargs." + std::string(name);
    EXPECT_EQ(refusal(with(R"("chat_template_kwargs":{")" + std::string(name) + R"(":true})")),
              param + " unsupported");
  }
  EXPECT_EQ(refusal(with(R"("chat_template_kwargs":[])")), "chat_template_kwargs invalid_type");
}

TEST_F(ChatRequestTest, SamplingIsCheckedBeforeAnythingIsStreamed) {
  EXPECT_EQ(refusal(with(R"("stream":true,"top_p":2)")), "top_p invalid_value");
  EXPECT_EQ(refusal(with(R"("num_beams":2,"logprobs":true,"top_logprobs":2)")),
            "top_logprobs invalid_value");
  EXPECT_EQ(refusal(with(R"("tfs_z":2)")), "tfs_z invalid_value");
}

}  // namespace
}  // namespace weft::test
