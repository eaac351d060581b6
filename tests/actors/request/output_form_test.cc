#include "weft/actors/request/output_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft::test {
namespace {

namespace json = boost::json;

constexpr TokenId kEnd = 256;
constexpr TokenId kThink = 257;
constexpr TokenId kThinkEnd = 258;
constexpr TokenId kCall = 259;
constexpr TokenId kCallEnd = 260;

/// Tokens are the bytes, an end, and the tags of Hermes' calls and of thoughts.
ServedModel thinking_model() {
  json::object vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    std::string name;
    append_byte_alphabet(name, std::string(1, static_cast<char>(byte)));
    vocabulary[name] = byte;
  }
  json::array added;
  TokenId id = kEnd;
  for (const char* tag : {"<end>", "<think>", "</think>", "<tool_call>", "</tool_call>"}) {
    vocabulary[tag] = id;
    added.push_back({{"id", id++}, {"content", tag}, {"special", true}});
  }
  const json::object all = {
      {"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", json::array()}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"added_tokens", std::move(added)}};
  ServedModel model{.tokenizer = Tokenizer::from_json(json::serialize(all), "bytes").value()};
  model.format = ModelFormat::make(join_formats(*known_format("hermes"), *known_format("think")),
                                   model.tokenizer);
  model.vocabulary = kCallEnd + 1;
  model.end_tokens = {kEnd};
  return model;
}

Request typed_request() {
  Request request;
  request.typed_output = true;
  return request;
}

json::value clock_tool() {
  return json::parse(
      R"([{"type":"function","function":{"name":"now","parameters":{"type":"object",
      "properties":{"zone":{"enum":["CET"]}},"required":["zone"]}}}])");
}

StructuredOutput small_object() {
  return {.kind = StructuredOutput::Kind::kJsonSchema,
          .text = R"({"type":"object","properties":{"a":{"const":1}},"required":["a"]})",
          .name = "response_format"};
}

std::vector<TokenId> tokens_of(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

bool allows(ConstraintState& state, TokenId token) {
  const AllowedTokens allowed = state.allowed();
  if (allowed.bits.empty()) return std::ranges::binary_search(allowed.tokens, token);
  return (allowed.bits[static_cast<std::size_t>(token) / 32] >> (token % 32) & 1U) != 0;
}

class OutputFormTest : public testing::Test {
 public:
  OutputForm constrain(Request& request, const std::vector<TokenId>& prompt = {'a'}) const {
    auto form = constrain_output(request, prompt, model);
    EXPECT_TRUE(form) << to_string(form.error());
    return form ? *form : OutputForm{};
  }
  std::string refusal(Request request) const {
    const auto form = constrain_output(request, tokens_of("a"), model);
    return form ? "no refusal" : form.error().detail;
  }

  ServedModel model = thinking_model();
};

TEST_F(OutputFormTest, WhatALenientSchemaIsNotHeldToIsNamedAndAStrictOneIsRefused) {
  Request request;
  request.structured_output = {.kind = StructuredOutput::Kind::kJsonSchema,
                               .text = R"x({"type":"string","pattern":"(?=a)","maxLength":3})x",
                               .name = "guided_json"};
  EXPECT_THAT(refusal(request),
              testing::StartsWith("guided_json.pattern: lookaround is not supported at byte 1"));
  request.structured_output.strict = false;
  for (int i = 0; i < 2; ++i) {  // compiled, and out of the cache
    Request one = request;
    const OutputForm form = constrain(one);
    ASSERT_NE(form.not_enforced, nullptr);
    EXPECT_EQ(*form.not_enforced, std::vector<std::string>{"guided_json.pattern"});
  }
  request.structured_output.name = "format";
  EXPECT_EQ(*constrain(request).not_enforced, std::vector<std::string>{"format.pattern"});
  Request plain;
  plain.structured_output = small_object();
  EXPECT_EQ(constrain(plain).not_enforced, nullptr);
}

TEST_F(OutputFormTest, WhereGrammarsInUseHoldAllThatTheyMayAnotherRequestIsToTryAgainLater) {
  model.grammars = GrammarCache(model.tokenizer, 1);
  Request first;
  first.structured_output = small_object();
  constrain(first);
  EXPECT_GT(model.grammars.held_bytes(), 1U);
  Request second;
  second.structured_output = {
      .kind = StructuredOutput::Kind::kRegex, .text = "[ab]+", .name = "guided_regex"};
  const auto refused = constrain_output(second, tokens_of("a"), model);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EngineErrc::kGrammarsFull);
  EXPECT_THAT(refused.error().detail, testing::HasSubstr("structured.memory_bytes"));
  first.sampling.constraint = nullptr;
  EXPECT_EQ(model.grammars.held_bytes(), 0U);
  constrain(second);
}

TEST_F(OutputFormTest, BesideAThoughtThatThePromptHasOpenedOnlyTheAnswerIsConstrained) {
  Request request = typed_request();
  request.structured_output = small_object();
  const OutputForm form = constrain(request, {'a', kThink, '\n'});
  EXPECT_TRUE(form.parser.in_thought);
  ASSERT_NE(request.sampling.constraint, nullptr);
  const auto state = request.sampling.constraint->begin();
  EXPECT_TRUE(allows(*state, 'h'));
  EXPECT_FALSE(state->allowed().may_end);
  state->advance(tokens_of("h{"));
  state->advance(std::vector<TokenId>{kThinkEnd});
  EXPECT_TRUE(allows(*state, '{'));
  EXPECT_FALSE(allows(*state, 'h'));
  state->advance(tokens_of("\n{\"a\":1}"));
  EXPECT_TRUE(state->allowed().may_end);

  OutputParser parser(std::make_shared<const OutputFormat>(form.format->format), form.parser);
  TypedText out;
  parser.feed("h{</think>\n{\"a\":1}", out);
  parser.finish(out);
  EXPECT_EQ(out.text(), "h{{\"a\":1}");
  ASSERT_EQ(out.marks().size(), 2U);
  EXPECT_EQ(out.marks()[0].kind, PieceKind::kReasoning);
  EXPECT_EQ(out.marks()[1].kind, PieceKind::kText);
}

/// A request that goes on with this text of the assistant's.
Request continuing(std::string_view text) {
  Request request = typed_request();
  request.messages = {{{"role", "assistant"}, {"content", text}}};
  request.continue_final_message = true;
  return request;
}

TEST_F(OutputFormTest, WhatAContinuedMessageHasSaidBeginsTheOutput) {
  Request request = continuing("I say ");
  EXPECT_EQ(constrain(request, tokens_of("assistant: I say ")).parser.begun, "I say ");
  Request trimmed = continuing("I say ");
  EXPECT_EQ(constrain(trimmed, tokens_of("assistant: I say")).parser.begun, "I say");
  Request shown = continuing("<think>a</think>b");
  EXPECT_EQ(constrain(shown, tokens_of("assistant: b")).parser.begun, "b")
      << "the template shows the last part alone";
  Request other = typed_request();
  EXPECT_EQ(constrain(other, tokens_of("I say ")).parser.begun, "");
}

TEST_F(OutputFormTest, AThoughtThatAContinuedMessageHasBegunIsFree) {
  Request request = continuing("<think>h");
  request.structured_output = small_object();
  const OutputForm form = constrain(request, {'a', kThink, 'h'});
  EXPECT_EQ(form.parser.begun, "<think>h");
  const auto state = request.sampling.constraint->begin();
  EXPECT_TRUE(allows(*state, 'm'));
  state->advance(std::vector<TokenId>{kThinkEnd});
  EXPECT_TRUE(allows(*state, '{'));
  EXPECT_FALSE(allows(*state, 'm'));
}

TEST_F(OutputFormTest, BehindATextThatIsContinuedNoThoughtBegins) {
  Request request = continuing("Here: ");
  request.structured_output = small_object();
  constrain(request, tokens_of("Here: "));
  const auto state = request.sampling.constraint->begin();
  EXPECT_TRUE(allows(*state, '{'));
  EXPECT_FALSE(allows(*state, kThink));
}

TEST_F(OutputFormTest, AnAnswerMayBeginAtOnceAndMayHaveTagsInItsTexts) {
  Request request = typed_request();
  request.tools = clock_tool();
  request.structured_output = {.kind = StructuredOutput::Kind::kJsonObject,
                               .name = "response_format"};
  const OutputForm form = constrain(request);
  const auto state = request.sampling.constraint->begin();
  EXPECT_TRUE(allows(*state, '{') && allows(*state, kThink) && allows(*state, kCall));
  EXPECT_FALSE(allows(*state, 'h'));
  const std::string answer = R"({"a":"<tool_call>{\"name\": \"now\"}</tool_call>"})";
  OutputParser parser(std::make_shared<const OutputFormat>(form.format->format), form.parser);
  TypedText out;
  parser.feed(answer, out);
  parser.finish(out);
  EXPECT_EQ(out.text(), answer);
  EXPECT_EQ(parser.calls(), 0);
}

TEST_F(OutputFormTest, WithoutTypedOutputAnAnswerIsAllThereIs) {
  Request request;
  request.structured_output = small_object();
  EXPECT_EQ(constrain(request).format, nullptr);
  EXPECT_FALSE(allows(*request.sampling.constraint->begin(), kThink));
}

TEST_F(OutputFormTest, ACallThatIsRequiredIsAllThatMayFollowAThought) {
  Request request = typed_request();
  request.tools = clock_tool();
  request.tool_choice.mode = ToolChoice::Mode::kRequired;
  constrain(request);
  const auto state = request.sampling.constraint->begin();
  EXPECT_TRUE(allows(*state, kCall) && allows(*state, kThink));
  EXPECT_FALSE(allows(*state, 'h') || state->allowed().may_end);
  state->advance(std::vector<TokenId>{kCall});
  state->advance(tokens_of(R"({"name": "now", "arguments": {"zone": "CET"}})"));
  EXPECT_TRUE(allows(*state, kCallEnd));
  EXPECT_FALSE(state->allowed().may_end);
}

TEST_F(OutputFormTest, EachRefusalNamesItsField) {
  Request request = typed_request();
  request.tool_choice.mode = ToolChoice::Mode::kRequired;
  EXPECT_EQ(refusal(request), "tool_choice: there are no tools");
  request.tools = clock_tool();
  request.tool_choice.only = {"later"};
  EXPECT_EQ(refusal(request), "tool_choice: 'later' is not one of the tools");
  request.tool_choice.only.clear();
  Request untyped = request;
  untyped.typed_output = false;
  EXPECT_EQ(refusal(untyped), "tool_choice: wants typed_output");
  Request endless = request;
  endless.sampling.ignore_eos = true;
  EXPECT_EQ(refusal(endless), "tool_choice: not with ignore_eos, since it must end");
  model.format = ModelFormat::make({}, model.tokenizer);
  EXPECT_EQ(refusal(request), "tool_choice: how this model writes calls is not known");
}

TEST_F(OutputFormTest, AThoughtThatHasUsedUpItsBudgetIsEnded) {
  Request request = typed_request();
  request.thinking_budget = 3;
  constrain(request, {'a', kThink});
  ASSERT_NE(request.sampling.constraint, nullptr);
  const auto state = request.sampling.constraint->begin();
  state->advance(tokens_of("ab"));
  EXPECT_TRUE(allows(*state, 'c') && allows(*state, kThinkEnd));
  state->advance(tokens_of("c"));
  EXPECT_TRUE(allows(*state, kThinkEnd));
  EXPECT_FALSE(allows(*state, 'd') || state->allowed().may_end);
  state->advance(std::vector<TokenId>{kThinkEnd});
  EXPECT_TRUE(allows(*state, 'd') && state->allowed().may_end);
}

TEST_F(OutputFormTest, ABudgetHoldsBesideAnAnswerThatIsConstrained) {
  Request request = typed_request();
  request.structured_output = small_object();
  request.thinking_budget = 2;
  constrain(request);
  const auto state = request.sampling.constraint->begin();
  state->advance(std::vector<TokenId>{kThink, 'a', 'b'});
  EXPECT_TRUE(allows(*state, kThinkEnd));
  EXPECT_FALSE(allows(*state, 'c'));
  state->advance(std::vector<TokenId>{kThinkEnd});
  EXPECT_TRUE(allows(*state, '{'));
  EXPECT_FALSE(allows(*state, 'c'));
}

TEST_F(OutputFormTest, OfAFamilyWithoutThoughtsABudgetMeansNothing) {
  model.format = ModelFormat::make(*known_format("hermes"), model.tokenizer);
  Request request = typed_request();
  request.thinking_budget = 0;
  constrain(request);
  EXPECT_EQ(request.sampling.constraint, nullptr);
  model = thinking_model();
  request.thinking_budget = request.max_tokens = 5;
  constrain(request);
  EXPECT_EQ(request.sampling.constraint, nullptr) << "no output is as long";
}

}  // namespace
}  // namespace weft::test
