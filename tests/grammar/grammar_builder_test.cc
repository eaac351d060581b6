#include "weft/grammar/grammar_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/grammar/grammar_error.h"
#include "weft/tests/grammar/grammar_fixture.h"

namespace weft::grammar {
namespace {

using Part = GrammarBuilder::Part;

TEST(GrammarBuilderTest, PutsCallsAroundSchemas) {
  const auto grammar = grammar_of([](GrammarBuilder& builder) -> Result<Part> {
    const auto arguments = builder.json_schema(
        R"({"type":"object","properties":{"city":{"type":"string"}},"required":["city"]})",
        "tools[0]");
    if (!arguments) return arguments.error();
    const Part call =
        builder.sequence({builder.literal("<call>{\"name\":\"weather\",\"arguments\":"), *arguments,
                          builder.literal("}</call>")});
    const std::vector<std::string> begins = {"<call>"};
    return builder.sequence({builder.text_without(begins), builder.repeat(call, 1, 2)});
  });
  ASSERT_NE(grammar, nullptr);
  const std::string call = R"(<call>{"name":"weather","arguments":{"city":"Köln"}}</call>)";
  EXPECT_TRUE(accepts(*grammar, call));
  EXPECT_TRUE(accepts(*grammar, "I look < it up. " + call + call));
  EXPECT_FALSE(accepts(*grammar, "I look it up."));
  EXPECT_FALSE(accepts(*grammar, call + call + call));
  EXPECT_FALSE(accepts(*grammar, call + " more"));
}

TEST(GrammarBuilderTest, RulesMayMeanThemselves) {
  const auto grammar = grammar_of([](GrammarBuilder& builder) -> Result<Part> {
    const Part rule = builder.reserve_rule();
    builder.define(
        rule, builder.any_of({builder.literal("x"), builder.sequence({builder.literal("("), rule,
                                                                      builder.literal(")")})}));
    return rule;
  });
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(accepts(*grammar, std::string(500, '(') + "x" + std::string(500, ')')));
  EXPECT_FALSE(accepts(*grammar, "((x)"));
}

TEST(GrammarBuilderTest, RefusesWhatHasNoTextOrBeginsWithItself) {
  Error error;
  EXPECT_EQ(grammar_of(
                [](GrammarBuilder& b) -> Result<Part> { return b.any_of(std::span<const Part>()); },
                &error),
            nullptr);
  EXPECT_EQ(error.detail, "no text is possible");
  EXPECT_EQ(grammar_of([](GrammarBuilder& b) -> Result<Part> { return b.reserve_rule(); }, &error),
            nullptr);
  EXPECT_EQ(error.detail, "a rule is not defined");
  const auto left = [](GrammarBuilder& b) -> Result<Part> {
    const Part rule = b.reserve_rule();
    const Part maybe = b.optional(b.literal("a"));
    b.define(rule, b.any_of({b.sequence({maybe, rule, b.literal("b")}), b.literal("c")}));
    return rule;
  };
  EXPECT_EQ(grammar_of(left, &error), nullptr);
  EXPECT_EQ(error.detail, "a rule begins with itself (left recursion)");
}

TEST(GrammarBuilderTest, SaysWhenItIsTooLarge) {
  Error error;
  const auto large = [](GrammarBuilder& builder) -> Result<Part> {
    Part all = builder.literal("a");
    for (int i = 0; i < 300'000; ++i) all = builder.sequence({all, builder.literal("b")});
    return all;
  };
  EXPECT_EQ(grammar_of(large, &error), nullptr);
  EXPECT_EQ(error.code, GrammarErrc::kTooComplex);
}

TEST(GrammarBuilderTest, AlternativesWithoutATextAreLeftOut) {
  const auto grammar = grammar_of([](GrammarBuilder& builder) -> Result<Part> {
    const Part never = builder.any_of(std::span<const Part>());
    return builder.any_of(
        {builder.sequence({builder.literal("ab"), never}), builder.literal("ac")});
  });
  const auto compiled = *CompiledGrammar::make(*grammar, byte_vocabulary({"ab", "ac"}));
  const auto state = compiled->begin();
  const AllowedTokens allowed = state->allowed();
  EXPECT_EQ(std::vector<TokenId>(allowed.tokens.begin(), allowed.tokens.end()),
            (std::vector<TokenId>{'a', 257}));
}

}  // namespace
}  // namespace weft::grammar
