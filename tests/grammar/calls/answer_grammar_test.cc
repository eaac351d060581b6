#include "weft/grammar/calls/answer_grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/grammar/grammar_error.h"
#include "weft/tests/grammar/grammar_fixture.h"
#include "weft/tests/text/format/family_outputs.h"
#include "weft/tests/text/format/parse_output.h"

namespace weft::grammar {
namespace {

namespace json = boost::json;
using Mode = ToolChoice::Mode;

constexpr std::string_view kWeather = R"({"type":"object","properties":{
  "city":{"enum":["Rom","São Paulo"],"type":"string"},"days":{"type":"integer"},
  "note":{"type":"string","minLength":1,"maxLength":4},
  "exact":{"type":"boolean"},"place":{"$ref":"#/$defs/Place"}},
  "required":["city","days"],"additionalProperties":false,
  "$defs":{"Place":{"type":"object","properties":{"x":{"type":["integer","null"]}},"required":["x"]}}})";

json::value tools_of(std::string_view weather = kWeather) {
  json::array tools;
  const auto add = [&](std::string_view name, std::string_view schema) {
    tools.push_back({{"type", "function"},
                     {"function", {{"name", name}, {"parameters", json::parse(schema)}}}});
  };
  add("get_weather", weather);
  add("now", R"({"type":"object","properties":{}})");
  return tools;
}

OutputFormat format_named(std::string_view calls, std::string_view thoughts = {}) {
  OutputFormat format = *known_format(calls);
  return thoughts.empty() ? format : join_formats(format, *known_format(thoughts));
}

/// A form and all that it borrows.
struct Asked {
  explicit Asked(OutputFormat written, json::value offered = tools_of())
      : tools(std::move(offered)) {
    format.format = std::move(written);
    form.format = &format;
    form.tools = &tools;
    form.choice.mode = Mode::kRequired;
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() = default;

  [[nodiscard]] std::shared_ptr<const Grammar> grammar(
      const std::vector<std::string>& special = {}) const {
    auto made = answer_grammar(form, special);
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? *made : nullptr;
  }
  [[nodiscard]] std::string refusal() const {
    const auto made = answer_grammar(form, {});
    return made ? "no refusal" : made.error().detail;
  }
  [[nodiscard]] bool allows(std::string_view text) const { return accepts(*grammar(), text); }

  json::value tools;
  ModelFormat format;
  AnswerForm form;
};

/// All bytes, and these special tokens behind them.
std::shared_ptr<const TokenTrie> vocabulary_with(const std::vector<std::string>& special) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  std::unordered_map<std::string, TokenId> ids;
  for (const std::string& one : special) {
    ids.emplace(one, static_cast<TokenId>(bytes.size()));
    bytes.emplace_back();
  }
  return std::make_shared<const TokenTrie>(std::move(bytes), std::move(ids));
}

/// Writes an output of a grammar by chance.
std::string random_output(const CompiledGrammar& grammar, const std::vector<std::string>& special,
                          std::mt19937& random) {
  CompiledGrammar::Place place = grammar.start();
  std::string text;
  while (text.size() < 20'000) {
    bool may_end = false;
    const TokenMask& mask = grammar.mask(place, may_end);
    EXPECT_TRUE(may_end || mask.count > 0) << text;
    if (mask.count == 0 || (may_end && random() % 3 == 0)) return text;
    // Free text ends soon: special tokens are the last ones.
    const bool last = !special.empty() && random() % 4 == 0;
    const TokenId token = last ? mask.tokens.back() : mask.tokens[random() % mask.tokens.size()];
    if (token < 256) {
      text.push_back(static_cast<char>(token));
    } else {
      text += special[static_cast<std::size_t>(token) - 256];
    }
    grammar.advance(place, token);
  }
  ADD_FAILURE() << "has no end: " << text.substr(0, 60);
  return text;
}

void expect_arguments(const std::string& function, const std::string& text) {
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  ASSERT_FALSE(failed) << text;
  const json::object& arguments = value.as_object();
  if (function == "now") {
    EXPECT_TRUE(arguments.empty()) << text;
    return;
  }
  ASSERT_EQ(function, "get_weather");
  EXPECT_TRUE(arguments.at("city") == "Rom" || arguments.at("city") == "São Paulo") << text;
  EXPECT_TRUE(arguments.at("days").is_number()) << text;
  for (const auto& [key, one] : arguments) {
    if (key == "note") {
      EXPECT_TRUE(one.is_string() && !one.as_string().empty()) << text;
      EXPECT_LE(count_code_points(one.as_string()), 4U) << text;
    } else if (key == "exact") {
      EXPECT_TRUE(one.is_bool()) << text;
    } else if (key == "place") {
      const json::value& x = one.at("x");
      EXPECT_TRUE(x.is_null() || x.is_number()) << text;
    } else {
      EXPECT_TRUE(key == "city" || key == "days") << text;
    }
  }
}

/// Reads an output, and expects it to be calls and nothing else.
void expect_calls(const OutputFormat& format, const AnswerForm& form, const std::string& output) {
  const auto pieces = test::parse_parts(
      format,
      {.tools = std::make_shared<const ToolSchemas>(*form.tools), .one_call = form.one_call},
      {output});
  ASSERT_FALSE(pieces.empty()) << output;
  std::string name;
  int calls = 0;
  for (const std::string& piece : pieces) {
    if (piece.starts_with("call|")) {
      name = piece.substr(5);
      ++calls;
    } else if (piece.starts_with("args|")) {
      expect_arguments(name, piece.substr(5));
    } else if (piece.starts_with("id|")) {
      EXPECT_NE(piece.find(':'), std::string::npos) << piece;
    } else if (!format.harmony || !(piece.starts_with("think|") || piece.starts_with("text|"))) {
      EXPECT_EQ(piece, "end") << format.name << ": " << output;
    }
  }
  EXPECT_GE(calls, 1) << format.name << ": " << output;
}

std::vector<std::string> texts_of_tags(const OutputFormat& format) {
  std::set<std::string> tags;
  for (const std::string_view tag : format.tags()) {
    const bool is_token = tag.find('|') != std::string_view::npos ||
                          tag.find("｜") != std::string_view::npos || tag.starts_with('[');
    if (is_token && tag.find("function") == std::string_view::npos) tags.emplace(tag);
  }
  if (format.name == "deepseek-v3") tags.emplace("<｜tool▁sep｜>");
  return {tags.begin(), tags.end()};
}

TEST(AnswerGrammarTest, WhatEveryFamilyIsForcedToWriteIsReadAsCallsThatFollowTheirSchemas) {
  std::mt19937 random(5);
  for (const KnownFormat& known : known_calls()) {
    const Asked asked(known.format);
    const std::vector<std::string> tokens = texts_of_tags(known.format);
    for (const auto& special : {std::vector<std::string>{}, tokens}) {
      // the form has no end
      if (special.empty() != tokens.empty() && known.format.harmony) continue;
      const auto grammar = asked.grammar(special);
      ASSERT_NE(grammar, nullptr) << known.format.name;
      const auto compiled = *CompiledGrammar::make(*grammar, vocabulary_with(special));
      for (int i = 0; i < 3; ++i) {
        expect_calls(known.format, asked.form, random_output(*compiled, special, random));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(AnswerGrammarTest, AllowsWhatTheFamiliesWrite) {
  const std::vector<std::pair<std::string_view, std::string_view>> outputs = {
      {"hermes",
       "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n"
       "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rom\", \"days\": 2}}\n"
       "</tool_call>"},
      {"qwen3-coder",
       "<tool_call>\n<function=get_weather>\n<parameter=city>\nRom\n</parameter>\n"
       "<parameter=days>\n2\n</parameter>\n<parameter=note>\nhm\n</parameter>\n</function>\n"
       "</tool_call>"},
      {"minimax",
       "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Rom"
       "</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n<invoke name=\"now\">\n"
       "</invoke>\n</minimax:tool_call>"},
      {"glm",
       "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rom</arg_value>\n<arg_key>days"
       "</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>now</tool_call>"},
      {"mistral", R"([TOOL_CALLS] [{"name": "now", "arguments": {}}])"},
      {"mistral-args", "[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]now[CALL_ID]a1b2[ARGS]{}"},
      {"deepseek-v3",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```"
       "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"kimi",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"},
      {"command-a",
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"now\", "
       "\"parameters\": {}}\n]<|END_ACTION|>"},
      {"command-r",
       "Action:\n```json\n[\n    {\n        \"tool_name\": \"now\",\n        "
       "\"parameters\": {}\n    }\n]\n```"},
      {"granite", R"(<|tool_call|>[{"name": "now", "arguments": {}}])"},
      {"llama-json", R"({"name": "get_weather", "parameters": {"city": "Rom", "days": 3}})"},
      {"llama-python",
       R"([get_weather(city="Rom", days=3, exact=True, place={"x": None}), now()])"},
      {"harmony",
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
       "to=functions.now <|constrain|>json<|message|>{}<|call|>"},
      {"harmony", " to=functions.now<|channel|>commentary<|message|>{}"},
      {"gemma",
       "<|tool_call>call:get_weather{city:<|\"|>Rom<|\"|>,days:2,note:<|\"|>hm<|\"|>}<tool_call|>"},
      {"function-gemma",
       "<start_function_call>call:get_weather{city:<escape>Rom<escape>,days:2}<end_function_call>"},
      {"apertus",
       R"(<|tools_prefix|>[{"get_weather": {"city": "Rom", "days": 2}}, {"now": {}}]<|tools_suffix|>)"},
      {"olmo", "<function_calls>get_weather(city=\"Rom\", days=2)\nnow()</function_calls>"},
      {"deepseek-v3.2",
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter "
       "name=\"city\" string=\"true\">Rom</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" "
       "string=\"false\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"hunyuan",
       "<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Rom"
       "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n"
       "</tool_calls>"},
  };
  for (const auto& [name, output] : outputs) {
    EXPECT_TRUE(Asked(format_named(name)).allows(output)) << name << ": " << output;
  }
}

TEST(AnswerGrammarTest, AllowsWhatEachFamilyWritesAroundItsCalls) {
  json::array tools;
  const auto add = [&](std::string_view name, std::string_view schema) {
    tools.push_back({{"type", "function"},
                     {"function", {{"name", name}, {"parameters", json::parse(schema)}}}});
  };
  add("get_weather", R"({"type":"object","properties":{"city":{"type":"string"},
    "days":{"type":"integer"}},"required":["city","days"]})");
  add("now", R"({"type":"object","properties":{}})");
  int families = 0;
  for (const test::FamilyOutput& one : test::family_outputs()) {
    OutputFormat format = find_output_format(one.evidence);
    // Several calls without a tag are read, and not written.
    if (format.calls.body == CallBody::kNone && !format.harmony) continue;
    if (format.name == "llama-json") continue;
    // Silent tags are free text; Llama's tags do not begin a call.
    if (format.name == "llama-python") continue;
    Asked asked(format, tools);
    asked.form.in_thought = one.in_thought;
    asked.form.choice = {.mode = Mode::kAuto, .strict = {"get_weather", "now"}};
    EXPECT_TRUE(asked.allows(one.output)) << one.family << ": " << one.output;
    std::string wrong = one.output;
    const std::size_t name = wrong.find("get_weather");
    ASSERT_NE(name, std::string::npos) << one.family;
    wrong.replace(name, 3, "put");
    EXPECT_FALSE(asked.allows(wrong)) << one.family << ": " << wrong;
    ++families;
  }
  EXPECT_GE(families, 30);
}

TEST(AnswerGrammarTest, AFormOfPairsWritesListsAndObjectsWithItsOwnQuotes) {
  const Asked asked(
      format_named("gemma"),
      tools_of(R"({"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},
        "B":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},
        "any":{}, "s":{"enum":["x","y"],"type":"string"}},"required":["tags"]})"));
  EXPECT_TRUE(
      asked.allows("<|tool_call>call:get_weather{B:{n:1},s:<|\"|>x<|\"|>,tags:[<|\"|>a<|\"|>,"
                   "<|\"|><|\"|>]}<tool_call|>"));
  EXPECT_TRUE(
      asked.allows("<|tool_call>call:get_weather{any:{\"a\": [\"b\"]},tags:[]}<tool_call|>"
                   "<|tool_call>call:now{}<tool_call|>"));
  EXPECT_FALSE(asked.allows("<|tool_call>call:get_weather{}<tool_call|>"));
  EXPECT_FALSE(asked.allows("<|tool_call>call:get_weather{s:<|\"|>z<|\"|>,tags:[]}<tool_call|>"));
  EXPECT_FALSE(asked.allows("<|tool_call>call:get_weather{tags:[\"a\"]}<tool_call|>"));
  EXPECT_FALSE(asked.allows("<|tool_call>call:now{a:1}<tool_call|>"));
  Asked free(format_named("gemma"));
  free.form.choice = {.mode = Mode::kAuto, .strict = {"get_weather"}};
  EXPECT_TRUE(free.allows("Well. <|tool_call>call:now{a:[{b:<|\"|>}<|\"|>},true]}<tool_call|>"));
  EXPECT_FALSE(free.allows("<|tool_call>call:now{a:b}<tool_call|>"));
}

TEST(AnswerGrammarTest, ARequiredCallAllowsNothingElse) {
  Asked asked(format_named("hermes"));
  const std::string now = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  EXPECT_FALSE(asked.allows("Hello."));
  EXPECT_FALSE(asked.allows("Hello. " + now));
  EXPECT_FALSE(asked.allows(now + " done"));
  EXPECT_FALSE(asked.allows(R"(<tool_call>{"name": "other", "arguments": {}}</tool_call>)"));
  EXPECT_FALSE(asked.allows(R"(<tool_call>{"name": "now", "arguments": {"a": 1}}</tool_call>)"));
  EXPECT_FALSE(asked.allows(
      R"(<tool_call>{"name": "get_weather", "arguments": {"city": "Bonn", "days": 1}}</tool_call>)"));
  EXPECT_TRUE(asked.allows(now + now));
  asked.form.one_call = true;
  EXPECT_TRUE(asked.allows(now));
  EXPECT_FALSE(asked.allows(now + now));
  asked.form.choice.only = {"get_weather"};
  EXPECT_FALSE(asked.allows(now));
}

TEST(AnswerGrammarTest, WhereCallingIsTheModelsChoiceStrictCallsFollowTheirSchemas) {
  Asked asked(format_named("hermes"));
  asked.form.choice = {.mode = Mode::kAuto, .strict = {"get_weather"}};
  EXPECT_TRUE(asked.allows("Use <tool_cal> as you like."));
  EXPECT_TRUE(asked.allows(""));
  EXPECT_TRUE(
      asked.allows(R"(Well. <tool_call>{"name": "now", "arguments": {"a": 1}}</tool_call> So.)"));
  EXPECT_FALSE(
      asked.allows(R"(Well. <tool_call>{"name": "get_weather", "arguments": {}}</tool_call>)"));
  EXPECT_FALSE(asked.allows("Well. <tool_call>no call"));
  for (const std::string between : {"", "\n", " And then "}) {
    const std::string now = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
    std::string several = now;
    several.append(between).append(now);
    EXPECT_TRUE(asked.allows(several)) << "several calls of one output";
  }
  for (const char* family : {"llama-json", "llama-python", "qwen3-coder", "glm", "harmony"}) {
    Asked other(format_named(family));
    other.form.choice = asked.form.choice;
    const bool harmony = std::string_view(family) == "harmony";
    EXPECT_TRUE(other.allows(harmony ? "<|channel|>final<|message|>Hello {you}." : "Hello {you}."));
  }
  Asked bare(format_named("llama-json"));
  bare.form.choice = asked.form.choice;
  EXPECT_FALSE(bare.allows(R"( {"name": "get_weather", "parameters": {}})"));
  Asked tagged(format_named("qwen3-coder"));
  tagged.form.choice = asked.form.choice;
  EXPECT_FALSE(tagged.allows("a <function=get_weather>\n</function>"));
  EXPECT_TRUE(tagged.allows("a <tool_call>\n<function=now>\n</function>\n</tool_call>"));
}

TEST(AnswerGrammarTest, ThoughtsStayFreeBeforeAnAnswerThatIsConstrained) {
  Asked asked(format_named("hermes", "think"), nullptr);
  asked.form.tools = nullptr;
  asked.form.choice = {};
  asked.form.answer = {.kind = StructuredOutput::Kind::kJsonSchema,
                       .text = R"({"type":"object","properties":{"a":{"type":"integer"}}})",
                       .name = "response_format"};
  EXPECT_TRUE(asked.allows(R"({"a":1})"));
  EXPECT_TRUE(asked.allows("<think>What is {this}?\n</think>\n\n{\"a\":1}"));
  EXPECT_FALSE(asked.allows("<think>hm</think>Well: {\"a\":1}"));
  EXPECT_FALSE(asked.allows("<think>hm"));
  asked.form.in_thought = true;
  EXPECT_TRUE(asked.allows("hm\n</think>{}"));
  EXPECT_FALSE(asked.allows("{}"));

  Asked harmony(format_named("harmony"), nullptr);
  harmony.form.tools = nullptr;
  harmony.form.choice = {};
  harmony.form.answer = asked.form.answer;
  EXPECT_TRUE(
      harmony.allows("<|channel|>analysis<|message|>a<|end|><|start|>assistant"
                     "<|channel|>final<|message|>{\"a\":1}"));
  EXPECT_FALSE(harmony.allows("<|channel|>final<|message|>a"));
}

TEST(AnswerGrammarTest, BesideToolsAnOutputIsACallOrAnAnswer) {
  Asked asked(format_named("hermes", "think"));
  asked.form.choice = {};
  asked.form.answer = {.kind = StructuredOutput::Kind::kJsonObject, .name = "response_format"};
  EXPECT_TRUE(asked.allows("<think>a</think>{\"b\": 1}"));
  EXPECT_TRUE(asked.allows(R"(<tool_call>{"name": "now", "arguments": {"x": 1}}</tool_call>)"));
  EXPECT_FALSE(asked.allows("Hello."));
  Asked bare(format_named("llama-json"));
  bare.form.choice = {};
  bare.form.answer = asked.form.answer;
  EXPECT_EQ(bare.refusal(), "response_format: beside tools, of a model whose calls no tag begins");
}

TEST(AnswerGrammarTest, ATagThatIsASpecialTokenIsThatTokenAndNothingElse) {
  const Asked asked(format_named("hermes"));
  const std::vector<std::string> special = {"<tool_call>", "</tool_call>"};
  const auto compiled = *CompiledGrammar::make(*asked.grammar(special), vocabulary_with(special));
  CompiledGrammar::Place place = compiled->start();
  bool may_end = true;
  EXPECT_EQ(compiled->mask(place, may_end).tokens, (std::vector<TokenId>{256}));
  EXPECT_FALSE(may_end);
}

TEST(AnswerGrammarTest, WhereTagsAreTokensStrictCallsFollowEachOther) {
  Asked asked(format_named("hermes"));
  asked.form.choice = {.mode = Mode::kAuto, .strict = {"now"}};
  const std::vector<std::string> special = {"<tool_call>", "</tool_call>"};
  const auto compiled = *CompiledGrammar::make(*asked.grammar(special), vocabulary_with(special));
  CompiledGrammar::Place place = compiled->start();
  bool may_end = false;
  const auto allows = [&](std::uint32_t token) {
    const TokenMask& mask = compiled->mask(place, may_end);
    if (mask.bits.empty()) return std::ranges::count(mask.tokens, static_cast<TokenId>(token)) == 1;
    return (mask.bits[token / 32] >> (token % 32) & 1U) == 1U;
  };
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(allows(256) && may_end) << call;
    compiled->advance(place, 256);
    for (const char c : std::string_view(R"({"name": "now", "arguments": {}})")) {
      compiled->advance(place, static_cast<unsigned char>(c));
    }
    compiled->advance(place, 257);
    if (call == 1) compiled->advance(place, '\n');
  }
  for (const char c : std::string_view("<tool_call")) {
    compiled->advance(place, static_cast<unsigned char>(c));
  }
  EXPECT_TRUE(allows('s'));
  EXPECT_FALSE(allows('>')) << "it is the token";
}

TEST(AnswerGrammarTest, AToolMayStandElsewhereThanAtItsIndex) {
  Asked asked(format_named("hermes"), tools_of(R"({"type":"array"})"));
  asked.form.choice.places = {"tools[4].tools[0]"};
  asked.form.choice.strict = {"get_weather"};
  EXPECT_EQ(asked.refusal(), "tools[4].tools[0].function.parameters.type: must be object");
}

TEST(AnswerGrammarTest, WhatCannotBeHeldToIsRefusedByItsPlace) {
  const auto refusal = [](std::string_view family, std::string_view schema) {
    Asked asked(format_named(family), tools_of(schema));
    asked.form.choice.strict = {"get_weather"};
    return asked.refusal();
  };
  const std::string at = "tools[0].function.parameters";
  EXPECT_EQ(refusal("hermes", R"({"type":"object","not":{}})"),
            at + ".not: this keyword is not supported");
  EXPECT_EQ(refusal("hermes", R"({"type":"array"})"), at + ".type: must be object");
  const std::string tags = ": is not supported for a model that writes arguments between tags";
  EXPECT_EQ(refusal("glm", R"({"properties":{"a":{"type":"string","pattern":"x"}}})"),
            at + ".properties.a.pattern" + tags);
  EXPECT_EQ(
      refusal("glm",
              R"({"properties":{"a":{"type":"array","items":{"type":"string","pattern":"x"}}}})"),
      at + ".properties.a.items.pattern" + tags);
  EXPECT_EQ(refusal("qwen3-coder", R"({"properties":{"a":{"enum":["</parameter>"]}}})"),
            at + ".properties.a: has '</parameter>' in it, which ends an argument");
  EXPECT_EQ(refusal("qwen3-coder", R"({"properties":{"a":{"type":"string","enum":["b\n"]}}})"),
            at + ".properties.a: has a value that cannot stand between tags");
  EXPECT_EQ(refusal("lfm2", R"({"properties":{"a b":{}}})"),
            at + ".properties.a b: a name of letters, digits, '_', '-' and '.' is supported");
  EXPECT_EQ(refusal("lfm2", R"({"anyOf":[{}]})"),
            at + ".anyOf: is not supported for a model that spells each argument");
  EXPECT_EQ(refusal("glm", R"({"required":["b"]})"),
            at + ".required: names 'b', which no property does");
}

TEST(AnswerGrammarTest, WhatCannotBeHeldToOfOthersIsLetPassAndNamed) {
  using Places = std::vector<std::string>;
  const auto grammar = [](std::string_view family, std::string_view schema) {
    return Asked(format_named(family), tools_of(schema)).grammar();
  };
  const std::string at = "tools[0].function.parameters";
  const auto hermes = [](std::string_view arguments) {
    return R"(<tool_call>{"name":"get_weather","arguments":)" + std::string(arguments) +
           "}</tool_call>";
  };
  const auto json_form = grammar(
      "hermes",
      R"({"type":"object","nullable":true,"properties":{"a":{"type":"string","format":"path"},)"
      R"("b":{"type":"array","items":{"type":"integer"},"uniqueItems":true}},"required":["a"]})");
  EXPECT_EQ(json_form->not_enforced(),
            (Places{at + ".properties.a.format", at + ".properties.b.uniqueItems"}));
  EXPECT_TRUE(accepts(*json_form, hermes(R"({"a":"x","b":[1,1]})")));
  EXPECT_FALSE(accepts(*json_form, hermes(R"({"b":[1]})")));
  EXPECT_FALSE(accepts(*json_form, hermes(R"({"a":"x","b":["y"]})")));
  EXPECT_FALSE(accepts(*json_form, hermes("null")));

  const auto tagged = grammar(
      "glm",
      R"({"properties":{"a":{"type":"string","pattern":"x","nullable":true},"b c":{"type":"integer"},)"
      R"("d":{"type":"string","format":"date","maxLength":10}},"required":["a","e"],"not":{}})");
  EXPECT_EQ(tagged->not_enforced(), (Places{at + ".not", at + ".properties.a.pattern"}));
  const auto glm = [](std::string_view pairs) {
    return "<tool_call>get_weather\n" + std::string(pairs) + "</tool_call>";
  };
  const auto pair = [](std::string_view key, std::string_view text) {
    return "<arg_key>" + std::string(key) + "</arg_key>\n<arg_value>" + std::string(text) +
           "</arg_value>\n";
  };
  EXPECT_TRUE(accepts(*tagged, glm(pair("a", "anything") + pair("e", "1"))));
  EXPECT_TRUE(accepts(*tagged, glm(pair("a", "x") + pair("b c", "5") + pair("e", "[]"))));
  EXPECT_TRUE(accepts(*tagged, glm(pair("a", "x") + pair("d", "2024-02-03") + pair("e", "1"))));
  EXPECT_FALSE(accepts(*tagged, glm(pair("a", "x") + pair("d", "soon") + pair("e", "1"))));
  EXPECT_FALSE(accepts(*tagged, glm(pair("a", "x") + pair("b c", "y") + pair("e", "1"))));
  EXPECT_FALSE(accepts(*tagged, glm(pair("e", "1"))));

  const auto python = grammar(
      "lfm2",
      R"({"$defs":{"args":{"properties":{"a b":{},"n":{"type":"integer"}},"required":["n"]}},)"
      R"("$ref":"#/$defs/args"})");
  EXPECT_EQ(python->not_enforced(), Places{at + ".properties.a b"});
  const auto call = [](std::string_view arguments) {
    return "<|tool_call_start|>[get_weather(" + std::string(arguments) + ")]<|tool_call_end|>";
  };
  EXPECT_TRUE(accepts(*python, call("n=5")));
  EXPECT_FALSE(accepts(*python, call("n=\"x\"")));
  EXPECT_FALSE(accepts(*python, call("")));
}

TEST(AnswerGrammarTest, AStrictFunctionBesideOthersIsStillRefused) {
  Asked asked(format_named("hermes"), tools_of(R"({"type":"object","contains":{}})"));
  asked.form.choice.strict = {"now"};
  EXPECT_EQ(asked.refusal(), "no refusal");
  asked.form.choice.strict = {"now", "get_weather"};
  EXPECT_EQ(asked.refusal(),
            "tools[0].function.parameters.contains: this keyword is not supported");
}

TEST(AnswerGrammarTest, ManySchemasMayCostNoMoreThanOne) {
  std::string huge = R"({"type":"object","properties":{)";
  for (int i = 0; i < 6000; ++i) {
    huge += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"enum":[1,2,3,4,5]})";
  }
  huge += "}}";
  const json::value schema = json::parse(huge);
  json::array tools;
  for (int i = 0; i < 8; ++i) {
    json::object function{{"name", "f" + std::to_string(i)}, {"parameters", schema}};
    tools.emplace_back(json::object{{"function", std::move(function)}});
  }
  const Asked asked(format_named("hermes"), std::move(tools));
  const auto made = answer_grammar(asked.form, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, GrammarErrc::kTooComplex);
}

TEST(AnswerGrammarTest, DefinitionsAreCopiedWhereTheyAreReferredToAndNotWithoutBound) {
  const auto made = [](std::string_view property) {
    std::string schema = R"({"type":"object","$defs":{"a":{"enum":[)";
    for (int i = 0; i < 10'000; ++i) schema += "\"v" + std::to_string(i) + "\",";
    schema += R"("last"]}},"properties":{)";
    for (int i = 0; i < 100; ++i) {
      schema.append(i > 0 ? "," : "").append("\"p").append(std::to_string(i)).append("\":");
      schema += property;
    }
    const Asked asked(format_named("glm"), tools_of(schema + "}}"));
    return answer_grammar(asked.form, {});
  };
  const auto referring = made(R"({"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]})");
  ASSERT_FALSE(referring);
  EXPECT_EQ(referring.error().code, GrammarErrc::kTooComplex);
  EXPECT_NE(referring.error().detail.find("properties.p"), std::string::npos)
      << referring.error().detail;
  EXPECT_TRUE(made(R"({"type":"integer"})"));
  EXPECT_FALSE(made(R"([{"$ref":"#/$defs/a"}])")) << "a list is no schema";
}

}  // namespace
}  // namespace weft::grammar
