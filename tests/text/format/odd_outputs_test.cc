// Outputs that are not quite in their family's form, or that contain similar text.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tests/text/format/parse_output.h"
#include "weft/text/format/output_parser.h"

namespace weft::test {
namespace {

using Pieces = std::vector<std::string>;

struct OddOutput {
  const char* calls;
  const char* thoughts;  // a row of that table, or ""
  std::string output;
  Pieces pieces;
  bool in_thought = false;
  bool cut = false;
};

std::shared_ptr<const ToolSchemas> odd_tools() {
  return test_tools({{"get_weather", {{"city", "string"}, {"days", "integer"}}},
                     {"now", {}},
                     {"run", {{"code", "string"}, {"args", "array"}}}});
}

void expect_all(const std::vector<OddOutput>& cases) {
  std::mt19937 random(33);
  for (const OddOutput& one : cases) {
    const OutputFormat& calls = *known_format(one.calls);
    const OutputFormat format =
        *one.thoughts == '\0' ? calls : join_formats(calls, *known_format(one.thoughts));
    const ParserOptions options{.tools = odd_tools(), .in_thought = one.in_thought};
    EXPECT_EQ(parse_parts(format, options, {one.output}, one.cut), one.pieces) << one.output;
    for (std::size_t i = 0; i < 20 + one.output.size(); ++i) {
      std::vector<std::string_view> parts = {
          std::string_view(one.output).substr(0, i),
          std::string_view(one.output).substr(std::min(i, one.output.size()))};
      if (i >= one.output.size()) parts = random_parts(one.output, random);
      ASSERT_EQ(parse_parts(format, options, parts, one.cut), one.pieces)
          << "cut at " << i << ": " << one.output;
    }
  }
}

TEST(OddOutputsTest, AValueEndsOnlyWhereTheNextParameterOrTheCallsEndFollows) {
  expect_all({
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=run>\n<parameter=code>\na</parameter>b\n</parameter>\n"
       "<parameter=args>\n[1]\n</parameter>\n</function>\n</tool_call>",
       {"call|run", R"(args|{"code": "a</parameter>b", "args": [1]})", "end"}},
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=run>\n<parameter=code>\n</parameter></parameter>\n\n</tool_call>x\n"
       "</parameter>\n</function>\n</tool_call>",
       {"call|run", R"(args|{"code": "</parameter></parameter>\n\n</tool_call>x"})", "end"}},
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=run>\n<parameter=code>\n<function=x>\n<parameter=y>1</parameter> "
       "end</function></tool_call>\n</parameter>\n</function>\n</tool_call>ok",
       {"call|run",
        "args|{\"code\": \"<function=x>\\n<parameter=y>1</parameter> "
        "end</function></tool_call>\"}",
        "end", "text|ok"}},
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=run>\n<parameter=code>\n1\n</parameter>\n</tool_call>\n<tool_call>"
       "\n<function=run>\n<parameter=code>\n2\n</parameter>\n</tool_call>\n",
       {"call|run", R"(args|{"code": "1"})", "end", "call|run", R"(args|{"code": "2"})", "end"}},
      {"glm",
       "",
       "<tool_call>run\n<arg_key>code</arg_key>\n<arg_value>a</arg_value>b</arg_value>\n"
       "</tool_call>",
       {"call|run", R"(args|{"code": "a</arg_value>b"})", "end"}},
      {"minimax",
       "",
       "<minimax:tool_call>\n<invoke name=\"run\">\n<parameter name=\"code\">\n</parameter>\n\n"
       "</invoke >\n</parameter>\n</invoke>\n</minimax:tool_call>",
       {"call|run", R"(args|{"code": "\n</parameter>\n\n</invoke >\n"})", "end"}},
      {"seed",
       "",
       "<seed:tool_call>\n<function=run>\n<parameter=code></parameter>\n<parameter>"
       "</parameter>\n</function>\n</seed:tool_call>",
       {"call|run", R"(args|{"code": "</parameter>\n<parameter>"})", "end"}},
      {"deepseek-v3.2",
       "",
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"run\">\n<｜DSML｜parameter name=\"code\" "
       "string=\"true\">12</｜DSML｜parameter>3</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" "
       "string=\"true\">7</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
       {"call|run", R"(args|{"code": "12</｜DSML｜parameter>3", "n": "7"})", "end"}},
      {"gemma",
       "",
       "<|tool_call>call:run{args:[1,{x:<|\"|>}<|\"|>}],code:<|\"|>a<|\"|>b{,}<|\"|>}<tool_call|>",
       {"call|run", R"(args|{"args": [1, {"x": "}"}], "code": "a<|\"|>b{,}"})", "end"}},
      {"lfm2",
       "",
       "<|tool_call_start|>[run(code='sed -n '3,4p' \"a\" f', args=[''])]<|tool_call_end|>",
       {"call|run", R"(args|{"code": "sed -n '3,4p' \"a\" f", "args": [""]})", "end"}},
      {"lfm2",
       "",
       "<|tool_call_start|>[run(code='''it's\n'a' ''', args=[007])]<|tool_call_end|>",
       {"call|run", R"(args|{"code": "it's\n'a' ", "args": [7]})", "end"}},
  });
}

TEST(OddOutputsTest, ACallInsideOfThoughtsIsOneWhereTheyAreNeverClosed) {
  const std::string call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  const Pieces called = {"think|Hm.", "call|now", "args|{}", "end"};
  expect_all({
      {"hermes", "think", "<think>\nHm.\n" + call, called},
      {"hermes", "think", "Hm.\n" + call + "\n", called, true},
      {"hermes",
       "think",
       "<think>\nHm.\n" + call + "\n" + call,
       {"think|Hm.", "call|now", "args|{}", "end", "call|now", "args|{}", "end"}},
      {"hermes",
       "think",
       "<think>\nHm.\n" + call + "\n</think>\nYes.",
       {"think|Hm.\n" + call, "text|Yes."}},
      {"hermes",
       "think",
       "<think>Hm.\n" + call + " first.</think>" + call,
       {"think|Hm.\n" + call + " first.", "call|now", "args|{}", "end"}},
      {"hermes", "think", "<think>A <tool_call> is due.", {"think|A <tool_call> is due."}},
      {"hermes", "think", "<think>Hm.<tool_call>{\"na", {"think|Hm."}, false, true},
      {"hermes",
       "think",
       "<think>Hm.<tool_call>{\"name\": \"run\", \"arguments\": {\"co",
       {"think|Hm.", "call|run", "args|{\"co"},
       false,
       true},
      {"qwen3-coder", "think", "Hm.<function=now>\n</function>\n</tool_call>", called, true},
      {"kimi",
       "think",
       "<think>Hm.<|tool_calls_section_begin|><|tool_call_begin|>functions.now:3"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
       {"think|Hm.", "id|functions.now:3", "call|now", "args|{}", "end"}},
      {"gemma", "gemma-think", "<|channel>thought\nHm.<|tool_call>call:now{}<tool_call|>", called},
      {"mistral-args", "magistral", "[THINK]Hm.[TOOL_CALLS]now[ARGS]{}", called},
      {"apertus",
       "apertus-think",
       "<|inner_prefix|>Hm.<|tools_prefix|>[{\"now\": {}}]<|tools_suffix|><|inner_suffix|>Yes.",
       {"think|Hm.", "call|now", "args|{}", "end", "text|Yes."}},
  });
}

TEST(OddOutputsTest, AMalformedHeaderLeavesThoughtsThoughts) {
  const std::string answer = "<|start|>assistant<|channel|>final<|message|>Yes.";
  const Pieces both = {"think|Hm, so.", "text|Yes."};
  expect_all({
      {"harmony", "", "<|channel|>analysis Hm, so.<|end|>" + answer, both},
      {"harmony", "", "<|channel|>analysisHm, so.<|end|>" + answer, both},
      {"harmony", "", "<|channel|>analysis Hm, so." + answer, both},
      {"harmony", "", "<|channel|><|message|>Hm, so.<|end|>" + answer, both},
      {"harmony", "", "<|channel|>analyse<|message|>Hm, so.<|end|>" + answer, both},
      {"harmony", "", "<|channel|>analysis<|channel|>analysis<|message|>Hm, so.<|end|>" + answer,
       both},
      {"harmony", "", "analysis<|message|>Hm, so.<|end|>" + answer, both},
      {"harmony",
       "",
       "<|channel|>final<|message|>Yes.<|end|>assistantanalysis<|message|>Hm.",
       {"text|Yes.", "think|Hm."}},
      {"harmony", "",
       "<|channel|>analysis<|message|>Hm,<|message|> so.<|channel|>final<|message|>"
       "Yes.<|return|>",
       both},
      {"harmony", "",
       "<|channel|>analysis<|message|>Hm, so.<|end|><|start|>assistant<|message|>"
       "Yes.",
       both},
      {"harmony",
       "",
       "<|channel|>analysis<|message|>Hm, so.<|end|>" + answer.substr(0, 30),
       {"think|Hm, so."}},
      {"harmony",
       "",
       "<|channel|>commentary to=functions.now{}<|call|>",
       {"call|now", "args|{}", "end"}},
      {"harmony",
       "",
       "<|channel|>commentary to=functions.run json {\"code\": 1}<|call|>",
       {"call|run", R"(args|{"code": 1})", "end"}},
      {"harmony", "", "final words", {"text|final words"}},
      {"harmony", "", "final", {"text|final"}},
      {"harmony",
       "",
       "<|channel|>analysis" + std::string(1100, 'x') + " y<|end|>" + answer,
       {"think|" + std::string(1100, 'x') + " y", "text|Yes."}},
  });
}

TEST(OddOutputsTest, OlderAndNewerFormsAreReadUnderEachOthersTemplates) {
  expect_all({
      {"mistral-args",
       "",
       R"(Yes.[TOOL_CALLS][{"name": "now", "arguments": {}}, )"
       R"({"name": "run", "arguments": {"args": [1]}, "id": "abc"}])",
       {"text|Yes.", "call|now", "args|{}", "end", "call|run", R"(args|{"args": [1]})", "end"}},
      {"mistral-args",
       "",
       R"([TOOL_CALLS] {"name": "now", "arguments": "{}"} )",
       {"call|now", "args|{}", "end"}},
      {"mistral-args",
       "",
       R"([TOOL_CALLS]run{"code": "x"}[TOOL_CALLS]now{})",
       {"call|run", R"(args|{"code": "x"})", "end", "call|now", "args|{}", "end"}},
      {"mistral",
       "",
       R"([TOOL_CALLS]run[ARGS]{"code": "x"}[TOOL_CALLS]now[CALL_ID]a1[ARGS]{})",
       {"call|run", R"(args|{"code": "x"})", "end", "call|now", "args|{}", "end"}},
      {"qwen3-coder",
       "",
       R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)",
       {"call|now", "args|{}", "end"}},
      {"hermes",
       "",
       "<tool_call>\n<function=run>\n<parameter=code>\n1\n</parameter>\n</function>\n</tool_call>",
       {"call|run", R"(args|{"code": "1"})", "end"}},
      {"glm",
       "",
       R"(<tool_call>{"name": "now", "arguments": {}}</tool_call> ok)",
       {"call|now", "args|{}", "end", "text|ok"}},
      {"lfm2",
       "",
       R"(<|tool_call_start|>[{"name": "now", "arguments": {}}]<|tool_call_end|>)",
       {"call|now", "args|{}", "end"}},
      {"gemma",
       "",
       R"(<|tool_call>:call:run{"code": "a,b", city: New York,n:None}<tool_call|>)",
       {"call|run", R"(args|{"code": "a,b", "city": "New York", "n": null})", "end"}},
      {"gemma",
       "",
       R"(<|tool_call>call:get_weather{city:123,days:2)",
       {"call|get_weather", R"(args|{"city": "123", "days": )"},
       false,
       true},
      {"gemma",
       "",
       "<|tool_call>call:get_weather{city:<|\"|>Rom<|\"|><tool_call|>",
       {"call|get_weather", R"(args|{"city": "Rom"})", "end"}},
      {"gemma", "", "<|tool_call>call:now<tool_call|>", {"call|now", "args|{}", "end"}},
      {"olmo",
       "",
       "<function_calls>\n[now(), run(code='x')]\n</function_calls>",
       {"call|now", "args|{}", "end", "call|run", R"(args|{"code": "x"})", "end"}},
      {"apertus",
       "",
       R"(<|tools_prefix|>{"run": "{\"code\": \"x\"}"}<|tools_suffix|>)",
       {"call|run", R"(args|{"code": "x"})", "end"}},
  });
}

TEST(OddOutputsTest, ArgumentsMayBeEmptyOrATextAndNamesInAnyScript) {
  expect_all({
      {"kimi",
       "",
       "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|><|tool_call_end|>",
       {"id|functions.now:0", "call|now", "args|{}", "end"}},
      {"kimi",
       "",
       R"(<|tool_call_begin|>functions.wetter_für:0<|tool_call_argument_begin|>"{\"a\": \"ö\"}")"
       "<|tool_call_end|>",
       {"id|functions.wetter_für:0", "call|wetter_für", R"(args|{"a": "ö"})", "end"}},
      {"deepseek-v3",
       "",
       "<｜tool▁call▁begin｜>function<｜tool▁sep｜>天气\n```json\n```<｜tool▁call▁end｜>",
       {"call|天气", "args|{}", "end"}},
      {"mistral-args", "", "[TOOL_CALLS]now[ARGS]", {"call|now"}, false, true},
      {"hermes",
       "",
       R"(<tool_call>{"name": "天气", "arguments": null}</tool_call>)",
       {"call|天气", "args|{}", "end"}},
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=天气>\n<parameter=城市>\n\n</parameter>\n"
       "</function>\n</tool_call>",
       {"call|天气", R"(args|{"城市": ""})", "end"}},
      {"gemma",
       "",
       "<|tool_call>call:wetter{größe:<|\"|><|\"|>,l:[],o:{}}<tool_call|>",
       {"call|wetter", R"(args|{"größe": "", "l": [], "o": {}})", "end"}},
  });
}

TEST(OddOutputsTest, DoubledAndStrayTagsAreNotShown) {
  const std::string call = R"({"name": "now", "arguments": {}})";
  const Pieces now = {"call|now", "args|{}", "end"};
  expect_all({
      {"hermes", "", "<tool_call>\n<tool_call>\n" + call + "\n</tool_call>\n</tool_call>", now},
      {"hermes", "", "<tool_call>" + call + "\n</tool_call></tool_call>", now},
      {"hermes", "think", "</think>\n\n<tool_call>" + call + "</tool_call>", now},
      {"qwen3-coder", "", "<tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
       now},
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=now>\n</tool_call>\nDone.",
       {"call|now", "args|{}", "end", "text|Done."}},
      {"hermes",
       "",
       R"(<tool_call>{"name": "f", "arguments": {"a": <}</tool_call> so)",
       {"call|f", R"(args|{"a": )", "end", "text|<}so"}},
      {"command-a",
       "command-think",
       "Well. <|START_THINKING|>Hm.<|END_THINKING|>Yes.",
       {"text|Well.", "think|Hm.", "text|Yes."}},
      {"gemma", "gemma-think", "Well.<channel|> Yes.", {"text|Well. Yes."}},
      {"gemma", "gemma-think", "Well.\n<channel|>Yes.", {"text|Well.\nYes."}},
      {"harmony", "", "<|channel|>final<|message|>Well. <|message|>Yes.", {"text|Well. Yes."}},
  });
}

TEST(OddOutputsTest, TextGoesOnBehindADroppedTagWithTheWhiteSpaceBeforeIt) {
  const std::string spaces(66, '\r');
  expect_all({
      {"harmony", "", "<|channel|>final 4o a\r\r<|message|>{}", {"text|4o a\r\r{}"}},
      {"harmony", "", "Well.\n<|call|>", {"text|Well.\n"}},
      {"harmony", "", "Well.\n<|call|>Yes.", {"text|Well.\nYes."}},
      {"harmony", "", "\n\nanalysis\rto=1<|call|>Yes.", {"text|\n\nYes."}},
      {"harmony", "", "\t\t<|start|>\t", {}},
      {"harmony",
       "",
       "\n<|channel|>commentary to=functions.now<|message|>{",
       {"call|now", "args|{"}},
      {"harmony", "", spaces + "an<think> so", {"text|" + spaces + "an<think> so"}},
      {"apertus",
       "apertus-think",
       "Well. <|tools_prefix|><|inner_suffix|>b",
       {"text|Well. <|tools_prefix|>b"}},
  });
}

TEST(OddOutputsTest, TagsInABlockOfCodeAreText) {
  const std::string shown = "It is\n```xml\n<tool_call>\n{\"name\": \"now\"}\n</tool_call>\n```\n";
  const std::string call = "<tool_call>\n{\"name\": \"now\"}\n</tool_call>";
  expect_all({
      {"hermes", "think", shown + "as you see.", {"text|" + shown + "as you see."}},
      {"hermes",
       "think",
       shown + call,
       {"text|" + shown.substr(0, shown.size() - 1), "call|now", "args|{}", "end"}},
      {"hermes",
       "",
       "The tag `<tool_call>` begins a call.",
       {"text|The tag `<tool_call>` begins a call."}},
      {"hermes", "think", "Say `<think>` and `</think>`.", {"text|Say `<think>` and `</think>`."}},
  });
}

TEST(OddOutputsTest, HalfOfATagIsTextWhereTheModelEndsAndNothingWhereItIsStopped) {
  expect_all({
      {"hermes", "", "Use <tool_ca", {"text|Use <tool_ca"}},
      {"hermes", "", "Use <tool_ca", {"text|Use"}, false, true},
      {"hermes", "", "a <", {"text|a <"}, false, true},
      {"hermes", "", "Use <tool_call>", {"text|Use <tool_call>"}},
      {"hermes", "", "Use <tool_call>\n{\"name\": \"no", {"text|Use"}, false, true},
      {"hermes", "think", "<think>Hm.</thi", {"think|Hm."}, false, true},
      {"hermes", "think", "<think>Hm.</thi", {"think|Hm.</thi"}},
      {"qwen3-coder",
       "",
       "<tool_call><function=run><parameter=code>x</para",
       {"call|run", R"(args|{"code": "x)"},
       false,
       true},
      {"qwen3-coder",
       "",
       "<tool_call><function=run><parameter=code>x</parameter>\n</fun",
       {"call|run", R"(args|{"code": "x")"},
       false,
       true},
      {"qwen3-coder",
       "",
       "<tool_call><function=get_weather><parameter=days>1",
       {"call|get_weather", R"(args|{"days": 1)"},
       false,
       true},
      {"llama-json", "", R"({"name": "no)", {R"(text|{"name": "no)"}, false, true},
      {"harmony", "", "<|channel|>ana", {}, false, true},
      {"harmony", "", "<|channel|>final<|message|>Yes.<|en", {"text|Yes."}, false, true},
  });
}

TEST(OddOutputsTest, ACallThatIsTooLongToBeHeldBackInThoughtsIsToldWhereItStands) {
  const OutputFormat format = join_formats(*known_format("hermes"), *known_format("think"));
  OutputParser parser(std::make_shared<const OutputFormat>(format), {.tools = odd_tools()});
  TypedText out;
  const std::string code(std::size_t{80} << 10, 'x');
  parser.feed(R"(<think>Hm.<tool_call>{"name": "run", "arguments": {"code": ")" + code, out);
  EXPECT_EQ(parser.calls(), 1);
  EXPECT_FALSE(parser.thinks());
  parser.feed("\"}}</tool_call>Done.", out);
  parser.finish(out);
  EXPECT_EQ(pieces_of(out), (Pieces{"think|Hm.", "call|run", R"(args|{"code": ")" + code + "\"}",
                                    "end", "text|Done."}));

  OutputParser rehearses(std::make_shared<const OutputFormat>(format), {.tools = odd_tools()});
  out.clear();
  const std::string call = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
  rehearses.feed("<think>Hm." + call + code, out);
  EXPECT_TRUE(rehearses.thinks());
  EXPECT_EQ(pieces_of(out), (Pieces{"think|Hm." + call + code}));
}

TEST(OddOutputsTest, AnOptionalTextIsATextWhateverItLooksLike) {
  const auto optional = std::make_shared<const ToolSchemas>(
      boost::json::parse(R"([{"type":"function","function":{"name":"f","parameters":{"properties":)"
                         R"({"zip":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}])"));
  for (const auto& [value, json] : {std::pair("12345", "\"12345\""),
                                    {"null", "null"},
                                    {"None", "null"},
                                    {"nullable", "\"nullable\""},
                                    {"", "\"\""}}) {
    const std::string output = std::string("<tool_call>f\n<arg_key>zip</arg_key>\n<arg_value>") +
                               value + "</arg_value>\n</tool_call>";
    EXPECT_EQ(parse_parts(*known_format("glm"), {.tools = optional}, {output}),
              (Pieces{"call|f", std::string("args|{\"zip\": ") + json + "}", "end"}));
  }
}

}  // namespace
}  // namespace weft::test
