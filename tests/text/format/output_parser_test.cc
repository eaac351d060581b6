#include "weft/text/format/output_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "weft/tests/text/format/parse_output.h"

namespace weft::test {
namespace {

using Pieces = std::vector<std::string>;

/// A family's text, and its parsed kinds.
struct Case {
  const char* format;
  const char* thoughts;  // a row of that table, or ""
  std::string output;
  Pieces pieces;
};

std::shared_ptr<const ToolSchemas> tools() {
  return test_tools({{"get_weather", {{"city", "string"}, {"days", "integer"}}},
                     {"now", {}},
                     {"run", {{"code", "string"}, {"args", "array"}}}});
}

OutputFormat format_of(const Case& one) {
  const OutputFormat& calls = *known_format(one.format);
  return *one.thoughts == '\0' ? calls : join_formats(calls, *known_format(one.thoughts));
}

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"hermes",
       "think",
       "<think>\nShe asks.\n</think>\n\nLet me see.\n<tool_call>\n"
       R"({"name": "get_weather", "arguments": {"city": "Zürich", "days": 2}})"
       "\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
       {"think|She asks.", "text|Let me see.", "call|get_weather",
        R"(args|{"city": "Zürich", "days": 2})", "end", "call|now", "args|{}", "end"}},
      {"hermes",
       "",
       "Use <b> and <tool_cal> as you like. ",
       {"text|Use <b> and <tool_cal> as you like. "}},
      {"hermes",
       "",
       R"(<tool_call>{"arguments": {"a": "}"}, "name": "f"}</tool_call> done)",
       {"call|f", R"(args|{"a": "}"})", "end", "text|done"}},
      {"hermes",
       "",
       R"(<tool_call>{"name": "f", "arguments": "{\"a\": \"é\\n\"}"}</tool_call>)",
       {"call|f", R"(args|{"a": "é\n"})", "end"}},
      {"hermes", "", R"(<tool_call>{"name": "now"}</tool_call>)", {"call|now", "args|{}", "end"}},
      {"hermes",
       "",
       "a  <tool_call>nothing</tool_call> b",
       {"text|a  <tool_call>nothing</tool_call> b"}},
      {"hermes",
       "",
       R"(<tool_call>{"name": "f", "arguments": {"a": <}</tool_call>)",
       {"call|f", R"(args|{"a": )", "end", "text|<}"}},
      {"hermes",
       "",
       R"(<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>)",
       {"call|f", R"(args|{"a": 1})", "end"}},
      {"hermes",
       "",
       R"(<tool_call>{"name": "f", "arguments": {"a": 1)",
       {"call|f", R"(args|{"a": 1)"}},
      {"hermes", "", R"(<tool_call>{"name": "f)", {R"(text|<tool_call>{"name": "f)"}},
      {"qwen3-coder",
       "",
       "I run "
       "it.\n\n<tool_call>\n<function=run>\n<parameter=code>\nprint(\"<hi>\")\n\n</parameter>\n"
       "<parameter=args>\n[1, 2]\n</parameter>\n<parameter=more>\nx y\n</parameter>\n"
       "</function>\n</tool_call>",
       {"text|I run it.", "call|run",
        R"(args|{"code": "print(\"<hi>\")\n", "args": [1, 2], "more": "x y"})", "end"}},
      {"qwen3-coder",
       "",
       "<function=now>\n</function>\n</tool_call>",
       {"call|now", "args|{}", "end"}},
      {"qwen3-coder",
       "",
       "<tool_call>\n<function=run>\n<parameter=code>\n1\n</parameter>\noops",
       {"call|run", R"(args|{"code": "1\n</parameter>\noops)"}},
      {"minimax",
       "",
       "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter "
       "name=\"city\">Rom</parameter>\n"
       "<parameter name=\"days\">3</parameter>\n</invoke>\n<invoke name=\"now\">\n</invoke>\n"
       "</minimax:tool_call>",
       {"call|get_weather", R"(args|{"city": "Rom", "days": 3})", "end", "call|now", "args|{}",
        "end"}},
      {"glm",
       "think",
       "\n<think>hm</think>Good.\n<tool_call>get_weather\n<arg_key>city</arg_key>\n"
       "<arg_value>New\nYork\n</arg_value>\n<arg_key>days</arg_key>\n<arg_value>True</arg_value>\n"
       "</tool_call>\n<tool_call>now</tool_call>",
       {"think|hm", "text|Good.", "call|get_weather",
        R"(args|{"city": "New\nYork\n", "days": true})", "end", "call|now", "args|{}", "end"}},
      {"llama-json",
       "",
       R"({"name": "get_weather", "parameters": {"city": "Bonn"}}; {"name": "now", "parameters": {}})",
       {"call|get_weather", R"(args|{"city": "Bonn"})", "end", "call|now", "args|{}", "end"}},
      {"llama-json",
       "",
       R"(<|python_tag|>{"type": "function", "name": "now", "parameters": {}})",
       {"call|now", "args|{}", "end"}},
      {"llama-json",
       "",
       R"( {"name": "Ada", "parameters": {}} is JSON)",
       {R"(text| {"name": "Ada", "parameters": {}} is JSON)"}},
      {"llama-json", "", R"(Say {"name": "now"})", {R"(text|Say {"name": "now"})"}},
      {"llama-python",
       "",
       R"([get_weather(city='It\'s "X"', days=-.5), now()])",
       {"call|get_weather", R"(args|{"city": "It's \"X\"", "days": -0.5})", "end", "call|now",
        "args|{}", "end"}},
      {"llama-python", "", "[1, 2] and [now]", {"text|[1, 2] and [now]"}},
      {"lfm2",
       "",
       R"(<|tool_call_start|>[run(code="a\tb", args=[1, (2, None,), {'k': True}])]<|tool_call_end|>ok)",
       {"call|run", R"(args|{"code": "a\u0009b", "args": [1, [2, null], {"k": true}]})", "end",
        "text|ok"}},
      {"mistral",
       "",
       R"([TOOL_CALLS][{"name": "now", "arguments": {}}, {"name": "f", "arguments": {"a": [1]}}])",
       {"call|now", "args|{}", "end", "call|f", R"(args|{"a": [1]})", "end"}},
      {"mistral-args",
       "magistral",
       R"([THINK]so[/THINK][TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{"a": "]"})",
       {"think|so", "call|now", "args|{}", "end", "call|f", R"(args|{"a": "]"})", "end"}},
      {"deepseek-v3",
       "think",
       "Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```"
       "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       {"text|Yes.", "call|now", "args|{}", "end", "call|f", R"(args|{"a": 1})", "end"}},
      {"deepseek-v3.1",
       "think",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>",
       {"call|f", R"(args|{"a": 1})", "end"}},
      {"kimi",
       "think",
       "<think>t</think>ok <|tool_calls_section_begin|><|tool_call_begin|>functions.now:0"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
       {"think|t", "text|ok", "id|functions.now:0", "call|now", "args|{}", "end"}},
      {"solar",
       "",
       "<|tool_calls|><|tool_call:begin|>abc<|tool_call:name|>now<|tool_call:args|>{}"
       "<|tool_call:end|>",
       {"call|now", "args|{}", "end"}},
      {"granite",
       "granite-think",
       R"(<think>a</think><response>b</response><|tool_call|>[{"name": "now", "arguments": {}}])",
       {"think|a", "text|b", "call|now", "args|{}", "end"}},
      {"command-a",
       "command-think",
       "<|START_THINKING|>I will.<|END_THINKING|><|START_ACTION|>[\n"
       R"(    {"tool_call_id": "0", "tool_name": "now", "parameters": {}})"
       "\n]<|END_ACTION|>",
       {"think|I will.", "call|now", "args|{}", "end"}},
      {"command-a", "command-think", "<|START_RESPONSE|>Hi.<|END_RESPONSE|>", {"text|Hi."}},
      {"command-r",
       "",
       "Plan: look.\nAction:\n```json\n[\n    {\n        \"tool_name\": \"now\",\n"
       "        \"parameters\": {}\n    }\n]\n```",
       {"text|Plan: look.", "call|now", "args|{}", "end"}},
      {"command-r", "", "```json\n1\n```", {"text|```json\n1\n```"}},
      {"harmony",
       "",
       "<|channel|>analysis<|message|>Hm, to=x.<|end|><|start|>assistant<|channel|>commentary "
       "to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Rom\"}<|call|>",
       {"think|Hm, to=x.", "call|get_weather", R"(args|{"city": "Rom"})", "end"}},
      {"harmony", "", "<|channel|>final<|message|>Hello <b>!", {"text|Hello <b>!"}},
      {"harmony",
       "",
       " to=functions.now<|channel|>commentary<|message|>{}",
       {"call|now", "args|{}", "end"}},
      {"harmony",
       "",
       "<|channel|>commentary to=functions.f<|message|>{\"a\"",
       {"call|f", R"(args|{"a")"}},
      {"harmony", "", "Plain words to=you", {"text|Plain words to=you"}},
      {"harmony", "", "<|channel|>final", {}},
  };
  return all;
}

TEST(OutputParserTest, WhatAFamilyWritesBecomesItsPieces) {
  for (const Case& one : cases()) {
    EXPECT_EQ(parse_parts(format_of(one), {.tools = tools()}, {one.output}), one.pieces)
        << one.format << ": " << one.output;
  }
}

TEST(OutputParserTest, ThePiecesDoNotDependOnHowTheOutputIsCut) {
  std::mt19937 random(21);
  for (const Case& one : cases()) {
    for (int i = 0; i < 40; ++i) {
      const auto parts = random_parts(one.output, random);
      ASSERT_EQ(parse_parts(format_of(one), {.tools = tools()}, parts), one.pieces)
          << one.format << ", " << parts.size() << " parts: " << one.output;
    }
  }
}

TEST(OutputParserTest, AnAnswerThatIsWholeHasNoTagsInIt) {
  const std::string answer = R"({"a": "<tool_call></think><|end|>"})";
  const ParserOptions options{.tools = tools(), .whole_answer = true};
  EXPECT_EQ(parse_parts(join_formats(*known_format("hermes"), *known_format("think")), options,
                        {"<think>b</think>\n", answer}),
            (Pieces{"think|b", "text|" + answer}));
  EXPECT_EQ(parse_parts(*known_format("harmony"), options,
                        {"<|channel|>analysis<|message|>b<|end|><|start|>assistant",
                         "<|channel|>final<|message|>", answer}),
            (Pieces{"think|b", "text|" + answer}));
  EXPECT_EQ(
      parse_parts(*known_format("hermes"), options, {R"(<tool_call>{"name": "now"}</tool_call>)"}),
      (Pieces{"call|now", "args|{}", "end"}));
}

TEST(OutputParserTest, WithoutToolsCallsAreTextAndThoughtsStayThoughts) {
  const OutputFormat format = find_output_format("<tool_call> </think>");
  EXPECT_EQ(parse_parts(format, {}, {"<think>a</think><tool_call>{\"name\": \"f\"}</tool_call>"}),
            (Pieces{"think|a", "text|<tool_call>{\"name\": \"f\"}</tool_call>"}));
}

TEST(OutputParserTest, AThoughtThatThePromptHasOpenedComesFirst) {
  const OutputFormat& format = *known_format("think");
  EXPECT_EQ(
      parse_parts(format, {.in_thought = true}, {"\nhm <thin", "g\n</thi", "nk>\n\nYes. <think>"}),
      (Pieces{"think|hm <thing", "text|Yes. <think>"}));
  EXPECT_EQ(parse_parts(format, {.in_thought = true}, {"<think>\nhm"}), (Pieces{"think|hm"}));
  EXPECT_TRUE(ends_in_thought("<|im_start|>assistant\n<think>\n", format));
  EXPECT_FALSE(ends_in_thought("<think>\n\n</think>\n\n", format));
  EXPECT_FALSE(ends_in_thought("What is <think>?", format));
}

/// The pieces of an output that goes on behind `begun`, however it is cut.
Pieces pieces_behind(const std::string& begun, const std::string& output,
                     const char* format = "hermes") {
  const OutputFormat written = join_formats(*known_format(format), *known_format("think"));
  const OutputFormat& one = known_format(format)->harmony ? *known_format(format) : written;
  const ParserOptions options{.tools = tools(), .begun = begun};
  const Pieces whole = parse_parts(one, options, {output});
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < output.size(); ++i) {
    bytes.push_back(std::string_view(output).substr(i, 1));
  }
  EXPECT_EQ(parse_parts(one, options, bytes), whole) << begun << "|" << output;
  return whole;
}

TEST(OutputParserTest, WhatThePromptHasOfAnOutputIsNotToldAgain) {
  EXPECT_EQ(pieces_behind("The sky", " is blue."), (Pieces{"text| is blue."}));
  EXPECT_EQ(pieces_behind("The sky ", "is blue."), (Pieces{"text|is blue."}));
  EXPECT_EQ(pieces_behind("The sky ", " is."), (Pieces{"text| is."}));
  EXPECT_EQ(pieces_behind("a <", "b"), (Pieces{"text|b"}));
  EXPECT_EQ(pieces_behind("a <tool", "box>"), (Pieces{"text|box>"}));
  EXPECT_EQ(pieces_behind("The sky", ""), Pieces{});
}

TEST(OutputParserTest, AThoughtThatThePromptHasBegunGoesOn) {
  EXPECT_EQ(pieces_behind("<think>\nHm", "m.\n</think>\n\nSo."), (Pieces{"think|m.", "text|So."}));
  EXPECT_EQ(pieces_behind("<think>\nHm ", "</think>So."), (Pieces{"text|So."}));
  EXPECT_EQ(pieces_behind("<think>Hm</thi", "nk>So."), (Pieces{"text|So."}));
  EXPECT_EQ(pieces_behind("<think>Hm</think>\n\nSo", " it is. <think>"),
            (Pieces{"text| it is. <think>"}));
}

TEST(OutputParserTest, ACallThatThePromptHasBegunIsToldAsAWhole) {
  EXPECT_EQ(pieces_behind("One moment. ", "<tool_call>{\"name\": \"now\"}</tool_call>"),
            (Pieces{"call|now", "args|{}", "end"}));
  EXPECT_EQ(pieces_behind("<tool_call>\n{\"name\": \"no", "w\", \"arguments\": {}}</tool_call>"),
            (Pieces{"call|now", "args|{}", "end"}));
  EXPECT_EQ(
      pieces_behind("<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": ", "1}}</tool_call>"),
      (Pieces{"call|now", "args|{\"a\": 1}", "end"}));
  EXPECT_EQ(pieces_behind("<tool_call>{\"name\": \"now\"}</tool_call>", "\nDone."),
            (Pieces{"text|Done."}));
}

TEST(OutputParserTest, CallsThatThePromptHasWholeAreNotCounted) {
  const auto format = std::make_shared<const OutputFormat>(*known_format("hermes"));
  const std::string call = "<tool_call>{\"name\": \"now\"}</tool_call>";
  OutputParser parser(format, {.tools = tools(), .begun = call});
  EXPECT_EQ(parser.calls(), 0);
  TypedText out;
  parser.feed(call, out);
  EXPECT_EQ(parser.calls(), 1);
}

TEST(OutputParserTest, AMessageOfHarmonyThatThePromptHasBegunGoesOn) {
  EXPECT_EQ(pieces_behind("<|channel|>final<|message|>The sky", " is blue.<|return|>", "harmony"),
            (Pieces{"text| is blue."}));
  EXPECT_EQ(pieces_behind("<|channel|>analysis<|message|>Hm",
                          "m.<|end|><|start|>assistant"
                          "<|channel|>final<|message|>So.",
                          "harmony"),
            (Pieces{"think|m.", "text|So."}));
}

TEST(OutputParserTest, OneCallEndsAnOutputThatMayHaveOne) {
  const std::string call = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
  OutputParser parser(std::make_shared<const OutputFormat>(*known_format("hermes")),
                      {.tools = tools(), .one_call = true});
  TypedText out;
  parser.feed("Hm. " + call + call, out);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.calls(), 1);
  EXPECT_EQ(pieces_of(out), (Pieces{"text|Hm.", "call|now", "args|{}", "end"}));
}

TEST(OutputParserTest, WhatIsHeldBackIsBounded) {
  for (const char* name : {"hermes", "llama-json", "qwen3-coder", "kimi", "llama-python"}) {
    const OutputFormat& format = *known_format(name);
    OutputParser parser(std::make_shared<const OutputFormat>(format), {.tools = tools()});
    TypedText out;
    const std::string begin =
        format.calls.open + format.calls.name_open + "{\"x\": [\"" + "[get_weather(";
    parser.feed(begin, out);
    const std::string more(100, ' ');
    std::size_t fed = begin.size();
    for (int i = 0; i < 2000; ++i) {
      parser.feed(more, out);
      fed += more.size();
      ASSERT_LE(fed - out.text().size(), std::size_t{17} << 10) << name;
    }
  }
}

TEST(OutputParserTest, AValueThatIsTooLongToBeJsonIsText) {
  std::string value(std::size_t{70} << 10, '1');
  const std::string output = "<tool_call><function=get_weather><parameter=days>" + value +
                             "</parameter></function></tool_call>";
  EXPECT_EQ(parse_parts(*known_format("qwen3-coder"), {.tools = tools()}, {output}),
            (Pieces{"call|get_weather", "args|{\"days\": \"" + value + "\"}", "end"}));
}

}  // namespace
}  // namespace weft::test
