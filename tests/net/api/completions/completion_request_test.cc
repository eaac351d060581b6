#include "weft/net/api/completions/completion_request.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

class CompletionRequestTest : public ApiFixture {
 public:
  ApiResult<CompletionRequest> read(const std::string& fields) {
    return read_completion(body("{" + fields + "}"), context);
  }
  CompletionRequest taken(const std::string& fields) {
    auto request = read(fields);
    EXPECT_TRUE(request) << fields << ": " << (request ? "" : request.error().message);
    return request ? *std::move(request) : CompletionRequest();
  }
  std::string refusal(const std::string& fields) { return verdict(read(fields)); }
  static std::string prompts(std::size_t count) {
    std::string text = R"("prompt":["a")";
    for (std::size_t i = 1; i < count; ++i) text += ",\"a\"";
    return text + "]";
  }
};

TEST_F(CompletionRequestTest, APromptIsTextOrTokensOrManyOfOneKind) {
  EXPECT_EQ(taken(R"("prompt":"a b")").parts.at(0).prompt, "a b");
  const CompletionRequest texts = taken(R"("prompt":["a","b"])");
  ASSERT_EQ(texts.parts.size(), 2U);
  EXPECT_EQ(texts.parts[1].prompt, "b");
  const CompletionRequest tokens = taken(R"("prompt":[5,6.0,287])");
  ASSERT_EQ(tokens.parts.size(), 1U);
  EXPECT_EQ(tokens.parts[0].prompt_tokens, (std::vector<TokenId>{5, 6, 287}));
  EXPECT_EQ(tokens.parts[0].prompt, "");
  const CompletionRequest lists = taken(R"("prompt":[[5],[6,7]])");
  ASSERT_EQ(lists.parts.size(), 2U);
  EXPECT_EQ(lists.parts[1].prompt_tokens, (std::vector<TokenId>{6, 7}));
}

TEST_F(CompletionRequestTest, APromptThatIsNoneIsRefused) {
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "prompt missing_required_parameter"},
           {R"("prompt":null)", "prompt missing_required_parameter"},
           {R"("prompt":"")", "prompt invalid_value"},
           {R"("prompt":[])", "prompt invalid_value"},
           {R"("prompt":[""])", "prompt[0] invalid_value"},
           {R"("prompt":[[]])", "prompt[0] invalid_value"},
           {R"("prompt":["a",""])", "prompt[1] invalid_value"},
           {R"("prompt":5)", "prompt invalid_type"},
           {R"("prompt":{})", "prompt invalid_type"},
           {R"("prompt":[null])", "prompt invalid_type"},
           {R"("prompt":["a",5])", "prompt invalid_type"},
           {R"("prompt":[5,"a"])", "prompt[1] invalid_type"},
           {R"("prompt":[[5],"a"])", "prompt invalid_type"},
           {R"("prompt":["a",[5]])", "prompt invalid_type"},
           {R"("prompt":[[5,"a"]])", "prompt[0][1] invalid_type"},
           {R"("prompt":[1.5])", "prompt[0] invalid_type"},
           {R"("prompt":[5,288])", "prompt[1] invalid_value"},
           {R"("prompt":[-1])", "prompt[0] invalid_value"},
           {R"("prompt":[[5],[5,4294967296]])", "prompt[1][1] invalid_value"},
           {R"("prompt":[18446744073709551615])", "prompt[0] invalid_type"},
       }) {
    EXPECT_EQ(refusal(fields), expected) << fields;
  }
}

TEST_F(CompletionRequestTest, TokensBeyondTheContextAreRefusedAtOnce) {
  std::string list = "5";
  for (int i = 1; i < 64; ++i) list += ",5";
  EXPECT_EQ(refusal("\"prompt\":[" + list + "]"), "200");
  EXPECT_EQ(refusal("\"prompt\":[" + list + ",5]"), "prompt context_length_exceeded");
  EXPECT_EQ(refusal("\"prompt\":[[" + list + ",5]]"), "prompt[0] context_length_exceeded");
}

TEST_F(CompletionRequestTest, PromptsAndTheirOutputsAreBoundedTogether) {
  EXPECT_EQ(taken(prompts(128)).parts.size(), 128U);
  EXPECT_EQ(refusal(prompts(129)), "prompt invalid_value");
  EXPECT_EQ(refusal(prompts(8) + R"(,"n":16)"), "200");
  EXPECT_EQ(refusal(prompts(9) + R"(,"n":16)"), "prompt invalid_value");
  EXPECT_EQ(refusal(prompts(9) + R"(,"best_of":16)"), "prompt invalid_value");
  EXPECT_EQ(refusal(prompts(9) + R"(,"num_beams":16)"), "prompt invalid_value");
}

TEST_F(CompletionRequestTest, EveryPromptHasTheSameParameters) {
  const CompletionRequest request =
      taken(R"("prompt":["a","b"],"max_tokens":5,"temperature":0,"n":2,"stop":"x","priority":3,)"
            R"("speculation":{"kind":"off"})");
  for (const Request& part : request.parts) {
    EXPECT_EQ(part.max_tokens, 5);
    EXPECT_EQ(part.sampling.temperature, 0);
    EXPECT_EQ(part.sampling.n, 2);
    EXPECT_EQ(part.stop, (std::vector<std::string>{"x"}));
    EXPECT_EQ(part.priority, 3);
    EXPECT_EQ(part.speculation.kind, SpeculationKind::kOff);
    EXPECT_EQ(part.client, "somebody");
    EXPECT_TRUE(part.messages.empty());
  }
  EXPECT_EQ(request.options.id, "cmpl-42");
  EXPECT_EQ(request.options.outputs_per_part, 2);
  EXPECT_TRUE(request.options.echo.empty());
  EXPECT_EQ(taken(R"("prompt":"a")").parts[0].max_tokens, 0) << "as many as there is room for";
}

TEST_F(CompletionRequestTest, LogprobsAreANumber) {
  const CompletionRequest none = taken(R"("prompt":"a","logprobs":0)");
  EXPECT_TRUE(none.options.logprobs);
  EXPECT_EQ(none.options.top_logprobs, 0);
  EXPECT_EQ(taken(R"("prompt":"a","logprobs":20)").parts[0].sampling.top_logprobs, 20);
  EXPECT_FALSE(taken(R"("prompt":"a","logprobs":null)").options.logprobs);
  EXPECT_EQ(refusal(R"("prompt":"a","logprobs":21)"), "logprobs invalid_value");
  EXPECT_EQ(refusal(R"("prompt":"a","logprobs":-1)"), "logprobs invalid_value");
  EXPECT_EQ(refusal(R"("prompt":"a","logprobs":true)"), "logprobs invalid_type");
}

TEST_F(CompletionRequestTest, AnEchoIsThePromptsText) {
  EXPECT_EQ(taken(R"("prompt":["a","b c"],"echo":true)").options.echo,
            (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(taken(R"("prompt":[1,286,287],"echo":true)").options.echo,
            (std::vector<std::string>{"aab"}));
  EXPECT_TRUE(taken(R"("prompt":"a","echo":false)").options.echo.empty());
  EXPECT_TRUE(taken(R"("prompt":"a","echo":true)").options.prompt_logprobs.empty());
}

TEST_F(CompletionRequestTest, AnEchoWithLogprobsWantsThoseOfThePrompt) {
  const CompletionRequest both = taken(R"("prompt":["a","b"],"echo":true,"logprobs":4)");
  EXPECT_TRUE(both.options.echo_logprobs);
  ASSERT_EQ(both.options.prompt_logprobs.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(both.parts[i].prompt_logprobs, both.options.prompt_logprobs[i]);
    EXPECT_EQ(both.parts[i].prompt_logprobs->top_count(), 4);
  }
  EXPECT_NE(both.parts[0].prompt_logprobs, both.parts[1].prompt_logprobs);
  EXPECT_FALSE(taken(R"("prompt":"a","logprobs":4)").parts[0].prompt_logprobs);
}

TEST_F(CompletionRequestTest, LogprobsOfPromptsCanBeAskedForAsOfVllm) {
  const CompletionRequest asked = taken(R"("prompt":"a","prompt_logprobs":3)");
  EXPECT_EQ(asked.options.prompt_top, 3);
  EXPECT_EQ(asked.parts[0].prompt_logprobs->top_count(), 3);
  EXPECT_FALSE(asked.options.echo_logprobs);
  EXPECT_EQ(taken(R"("prompt":"a","prompt_logprobs":0)").options.prompt_logprobs.size(), 1U);
  EXPECT_EQ(taken(R"("prompt":"a","echo":true,"logprobs":5,"prompt_logprobs":3)")
                .parts[0]
                .prompt_logprobs->top_count(),
            5);
  EXPECT_TRUE(
      taken(R"("prompt":"a","prompt_logprobs":0,"stream":true)").options.prompt_logprobs.empty());
  EXPECT_EQ(refusal(R"("prompt":"a","prompt_logprobs":1,"stream":true)"),
            "prompt_logprobs unsupported");
  EXPECT_EQ(refusal(R"("prompt":"a","prompt_logprobs":21)"), "prompt_logprobs invalid_value");
  EXPECT_EQ(refusal(R"("prompt":"a","prompt_logprobs":-1)"), "prompt_logprobs invalid_value");
  EXPECT_EQ(refusal(R"("prompt":"a","prompt_logprobs":true)"), "prompt_logprobs invalid_type");
}

TEST_F(CompletionRequestTest, AllLogprobsOfPromptsTogetherAreBounded) {
  constexpr std::size_t kMost = defaults::kMaxPromptLogprobs;
  EXPECT_EQ(taken(R"("prompt":"a","prompt_logprobs":3)").parts[0].prompt_logprobs->most(), kMost);
  const CompletionRequest many = taken(R"("prompt":["a","b"],"n":4,"echo":true,"logprobs":4)");
  EXPECT_EQ(many.parts[1].prompt_logprobs->most(), kMost / 8);
}

TEST_F(CompletionRequestTest, NoTokensCanBeAskedForWhereThePromptIsToBeSeen) {
  for (const char* fields : {R"("echo":true)", R"("prompt_logprobs":0)"}) {
    const CompletionRequest none = taken(R"("prompt":"a","max_tokens":0,)" + std::string(fields));
    EXPECT_FALSE(none.options.generate);
    EXPECT_EQ(none.parts[0].max_tokens, 1) << "the engine gives at least one";
  }
  EXPECT_EQ(refusal(R"("prompt":"a","max_tokens":0)"), "max_tokens invalid_value");
  EXPECT_EQ(refusal(R"("prompt":"a","max_tokens":0,"echo":false)"), "max_tokens invalid_value");
  EXPECT_EQ(refusal(R"("prompt":"a","max_tokens":-1,"echo":true)"), "max_tokens invalid_value");
}

TEST_F(CompletionRequestTest, AnEchoOfTokensWithoutTextIsRefused) {
  model->vocabulary = 300;  // rows of the output layer beyond the tokenizer's
  EXPECT_EQ(refusal(R"("prompt":[299])"), "200");
  EXPECT_EQ(refusal(R"("prompt":[299],"echo":true)"), "prompt invalid_value");
}

TEST_F(CompletionRequestTest, WhatCannotBeDoneIsRefusedByName) {
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("suffix":"x")", "suffix unsupported"},
           {R"("suffix":"")", "200"},
           {R"("suffix":null)", "200"},
           {R"("add_special_tokens":false)", "add_special_tokens unsupported"},
           {R"("include_stop_str_in_output":true)", "include_stop_str_in_output unsupported"},
           {R"("response_format":{"type":"xml"})", "response_format.type unsupported"},
           {R"("response_format":{"type":"json_object"})", "200"},
           {R"("messages":[])", "messages unknown_parameter"},
           {R"("max_completion_tokens":5)", "max_completion_tokens unknown_parameter"},
           {R"("model":"other")", "404 model model_not_found"},
           {R"("n":0)", "n invalid_value"},
           {R"("user":"u","store":true)", "200"},
       }) {
    EXPECT_EQ(refusal(R"("prompt":"a",)" + fields), expected) << fields;
  }
}

}  // namespace
}  // namespace weft::test
