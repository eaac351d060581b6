#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/net/api/completions/completion_api.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/written_events.h"

namespace weft {
namespace {

using test::add_silent_token;
using test::byte_model;
using test::data_of;
using test::finish_of;
using test::json_of;
using test::text_delta;
using testing::ElementsAre;

CompletionOptions completion_options(bool stream) {
  CompletionOptions options;
  options.id = "cmpl-1";
  options.created = 1700;
  options.model = "demo";
  options.stream = stream;
  return options;
}

constexpr std::string_view kHead =
    R"({"id":"cmpl-1","object":"text_completion","created":1700,"model":"demo",)"
    R"("system_fingerprint":"weft-0.1.0","choices":[)";

std::string completion_chunk(std::string_view choices) {
  return std::string(kHead).append(choices).append("]}");
}

TEST(CompletionWriterTest, StreamsTextsThenTheEnd) {
  const auto writer = make_completion_writer(completion_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->begin(out);
  EXPECT_TRUE(out.empty()) << "there is no role to tell";
  writer->delta(0, text_delta("Hel"), out);
  writer->delta(0, text_delta("lo"), out);
  writer->end(std::vector{finish_of(FinishReason::kLength)}, out);
  EXPECT_THAT(
      data_of(out),
      ElementsAre(
          completion_chunk(R"({"text":"Hel","index":0,"logprobs":null,"finish_reason":null})"),
          completion_chunk(R"({"text":"lo","index":0,"logprobs":null,"finish_reason":null})"),
          completion_chunk(R"({"text":"","index":0,"logprobs":null,"finish_reason":"length",)"
                           R"("stop_reason":null})"),
          "[DONE]"));
}

TEST(CompletionWriterTest, AnswersWithAChoiceForEachOutputOfEachPrompt) {
  CompletionOptions options = completion_options(false);
  options.outputs_per_part = 2;
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kBody);
  writer->begin(out);
  writer->delta(1, text_delta("c", 0), out);
  writer->delta(0, text_delta("b", 1), out);
  writer->delta(0, text_delta("a", 0), out);
  Finish first = finish_of(FinishReason::kStop, {3, 2});
  first.choices.push_back({.reason = FinishReason::kLength});
  Finish second = finish_of(FinishReason::kStop, {4, 1});
  second.choices.push_back({.reason = FinishReason::kStop, .stop = "END"});
  writer->end(std::vector{first, second}, out);
  EXPECT_THAT(
      data_of(out),
      ElementsAre(
          std::string(kHead) +
          R"({"text":"a","index":0,"logprobs":null,"finish_reason":"stop","stop_reason":null},)"
          R"({"text":"b","index":1,"logprobs":null,"finish_reason":"length","stop_reason":null},)"
          R"({"text":"c","index":2,"logprobs":null,"finish_reason":"stop","stop_reason":null},)"
          R"({"text":"","index":3,"logprobs":null,"finish_reason":"stop","stop_reason":"END"}],)"
          R"("usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,)"
          R"("prompt_tokens_details":{"cached_tokens":0}}})"));
}

TEST(CompletionWriterTest, TellsWhatBecameOfGuesses) {
  EventBatch body(Framing::kBody);
  const auto writer = make_completion_writer(completion_options(false), byte_model());
  writer->delta(0, text_delta("ab"), body);
  Finish finish = finish_of(FinishReason::kLength);
  finish.usage.accepted_guesses = 4;
  finish.usage.rejected_guesses = 3;
  writer->end(std::vector{finish}, body);
  const auto usage = json_of(data_of(body).front()).at("usage");
  EXPECT_EQ(usage.at("completion_tokens_details"),
            boost::json::parse(R"({"reasoning_tokens":0,"accepted_prediction_tokens":4,)"
                               R"("rejected_prediction_tokens":3})"));
}

/// The ids of a prompt as the engine has told them.
std::shared_ptr<const PromptTokens> told_prompt(std::vector<TokenId> ids) {
  auto prompt = std::make_shared<PromptTokens>();
  prompt->set(std::move(ids));
  return prompt;
}

TEST(CompletionWriterTest, TellsTheIdsOfPromptAndOutputWhereThatIsAskedFor) {
  CompletionOptions options = completion_options(false);
  options.token_ids = true;
  options.prompt_ids = {told_prompt({7, 8})};
  const auto whole = make_completion_writer(options, byte_model());
  EventBatch body(Framing::kBody);
  whole->delta(0, text_delta("ab"), body);
  whole->end(std::vector{finish_of(FinishReason::kLength)}, body);
  const auto choice = json_of(data_of(body).front()).at("choices").at(0);
  EXPECT_EQ(choice.at("prompt_token_ids"), boost::json::parse("[7,8]"));
  EXPECT_EQ(choice.at("token_ids"), boost::json::parse("[97,98]"));

  options.stream = true;
  const auto writer = make_completion_writer(options, byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, text_delta("a"), out);
  Delta silent = text_delta("b");
  silent.text.clear();
  writer->delta(0, silent, out);
  writer->end(std::vector{finish_of(FinishReason::kLength)}, out);
  EXPECT_THAT(
      data_of(out),
      ElementsAre(
          completion_chunk(R"({"text":"a","index":0,"logprobs":null,"finish_reason":null,)"
                           R"("prompt_token_ids":[7,8],"token_ids":[97]})"),
          completion_chunk(R"({"text":"","index":0,"logprobs":null,"finish_reason":null,)"
                           R"("token_ids":[98]})"),
          completion_chunk(R"({"text":"","index":0,"logprobs":null,"finish_reason":"length",)"
                           R"("stop_reason":null,"token_ids":[]})"),
          "[DONE]"));
}

TEST(CompletionWriterTest, CallsTokensByTheirIdsWhereThatIsAskedFor) {
  CompletionOptions options = completion_options(false);
  options.logprobs = true;
  options.tokens_as_ids = true;
  const auto writer = make_completion_writer(options, byte_model());
  EventBatch out(Framing::kBody);
  Delta delta = text_delta("a");
  delta.logprobs = {-1};
  writer->delta(0, delta, out);
  writer->end(std::vector{finish_of(FinishReason::kLength)}, out);
  EXPECT_EQ(json_of(data_of(out).front()).at("choices").at(0).at("logprobs").at("tokens"),
            boost::json::parse(R"(["token_id:97"])"));
}

std::vector<std::string> texts_of(const EventBatch& out) {
  std::vector<std::string> texts;
  for (const std::string& data : data_of(out)) {
    if (data == "[DONE]") continue;
    const auto answer = json_of(data);
    for (const auto& choice : answer.at("choices").as_array()) {
      texts.emplace_back(choice.at("text").as_string());
    }
  }
  return texts;
}

TEST(CompletionWriterTest, PutsThePromptBeforeTheFirstTextOfEachOutput) {
  for (const bool stream : {true, false}) {
    CompletionOptions options = completion_options(stream);
    options.outputs_per_part = 2;
    options.echo = {"One: ", "Two: "};
    const auto writer = make_completion_writer(std::move(options), byte_model());
    EventBatch out(stream ? Framing::kSse : Framing::kBody);
    writer->delta(1, text_delta("c", 0), out);
    writer->delta(0, text_delta("a", 0), out);
    writer->delta(0, text_delta("b", 0), out);
    writer->delta(0, text_delta("d", 1), out);
    writer->end(std::vector{finish_of(FinishReason::kStop), finish_of(FinishReason::kStop)}, out);
    if (stream) {
      EXPECT_THAT(texts_of(out),
                  ElementsAre("Two: c", "One: a", "b", "One: d", "", "", "", "Two: "));
    } else {
      EXPECT_THAT(texts_of(out), ElementsAre("One: ab", "One: d", "Two: c", "Two: "));
    }
  }
}

TEST(CompletionWriterTest, TellsTheUsageOfEachPromptInItsChunksWhereThatIsAskedFor) {
  CompletionOptions options = completion_options(true);
  options.usage_in_chunks = true;
  options.include_usage = true;
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  writer->admit(0, 5);
  writer->admit(1, 9);
  writer->begin(out);
  writer->delta(1, text_delta("ab"), out);
  writer->delta(0, text_delta("c"), out);
  writer->end(
      std::vector{finish_of(FinishReason::kStop, {5, 1}), finish_of(FinishReason::kStop, {9, 3})},
      out);
  std::vector<std::string> totals;
  for (const std::string& data : data_of(out)) {
    if (data == "[DONE]") continue;
    const auto usage = json_of(data).at("usage");
    totals.push_back(boost::json::serialize(usage.at("prompt_tokens")) + "+" +
                     boost::json::serialize(usage.at("completion_tokens")));
  }
  EXPECT_THAT(totals, ElementsAre("9+2", "5+1", "5+1", "9+3", "14+4"));
}

Delta completion_delta_with_logprobs() {
  Delta delta = text_delta("A\u00E9");
  delta.logprobs = {-0.5F, -3, -1};
  delta.top_per_token = 2;
  delta.top = {{'A', -0.5F}, {'B', -1.25F}, {'B', -0.25F}, {'C', -2}, {0xA9, -1}, {'C', -2}};
  return delta;
}

TEST(CompletionWriterTest, WritesLogprobsInColumns) {
  CompletionOptions options = completion_options(false);
  options.logprobs = true;
  options.top_logprobs = 2;
  options.echo = {"\u00E9: "};
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kBody);
  writer->delta(0, completion_delta_with_logprobs(), out);
  Delta rest = text_delta("!");
  rest.logprobs = {-1};
  add_silent_token(rest, 'x', -1);  // a special token that is not shown
  writer->delta(0, rest, out);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  EXPECT_EQ(json_of(data_of(out).front()).at("choices").at(0).at("logprobs"),
            json_of(R"({"tokens":["A","bytes:\\xc3","bytes:\\xa9","!",""],)"
                    R"("token_logprobs":[-0.5,-3.0,-1.0,-1.0,-1.0],)"
                    R"("top_logprobs":[{"A":-0.5,"B":-1.25},{"B":-0.25,"C":-2.0,)"
                    R"("bytes:\\xc3":-3.0},{"bytes:\\xa9":-1.0,"C":-2.0},{"!":-1.0},{"":-1.0}],)"
                    R"("text_offset":[3,4,5,5,6]})"));
}

/// The prompt "é:", read, of which ':' had the logprob 0 and was the best.
std::shared_ptr<PromptLogprobs> read_prompt() {
  auto prompt = std::make_shared<PromptLogprobs>(1);
  prompt->begin(std::vector<TokenId>{0xC3, 0xA9, ':'});
  std::vector<float> logits(256, -1000);
  logits[0xA9] = 0;
  prompt->read({.position = 0, .logits = logits});
  logits['B'] = 1000;
  prompt->read({.position = 1, .logits = logits});
  return prompt;
}

CompletionOptions echo_options(bool stream) {
  CompletionOptions options = completion_options(stream);
  options.logprobs = true;
  options.top_logprobs = 1;
  options.echo = {"\u00E9:"};
  options.echo_logprobs = true;
  options.prompt_logprobs = {read_prompt()};
  return options;
}

Delta delta_of_a() {
  Delta delta = text_delta("A");
  delta.logprobs = {-0.5F};
  delta.top_per_token = 1;
  delta.top = {{'A', -0.5F}};
  return delta;
}

TEST(CompletionWriterTest, PutsThePromptsLogprobsBeforeThoseOfTheOutput) {
  for (const bool stream : {true, false}) {
    const auto writer = make_completion_writer(echo_options(stream), byte_model());
    EventBatch out(stream ? Framing::kSse : Framing::kBody);
    writer->delta(0, delta_of_a(), out);
    writer->end(std::vector{finish_of(FinishReason::kLength)}, out);
    const auto choice = json_of(data_of(out).front()).at("choices").at(0);
    EXPECT_EQ(choice.at("text"), "\u00E9:A");
    EXPECT_EQ(choice.at("logprobs"),
              json_of(R"({"tokens":["bytes:\\xc3","bytes:\\xa9",":","A"],)"
                      R"("token_logprobs":[null,0.0,-2000.0,-0.5],)"
                      R"("top_logprobs":[null,{"bytes:\\xa9":0.0},{"B":0.0,":":-2000.0},)"
                      R"({"A":-0.5}],"text_offset":[0,1,1,2]})"));
  }
}

TEST(CompletionWriterTest, TellsThePromptAloneWhereNoOutputIsWanted) {
  for (const bool stream : {true, false}) {
    CompletionOptions options = echo_options(stream);
    options.generate = false;
    const auto writer = make_completion_writer(std::move(options), byte_model());
    EventBatch out(stream ? Framing::kSse : Framing::kBody);
    writer->delta(0, delta_of_a(), out);
    writer->end(std::vector{finish_of(FinishReason::kStop, {3, 1})}, out);
    const auto answer = json_of(data_of(out).front());
    const auto choice = answer.at("choices").at(0);
    EXPECT_EQ(choice.at("text"), "\u00E9:");
    EXPECT_EQ(choice.at("finish_reason"), "length");
    EXPECT_EQ(choice.at("logprobs").at("tokens").as_array().size(), 3U);
    if (!stream) {
      EXPECT_EQ(answer.at("usage").at("completion_tokens"), 0);
      EXPECT_EQ(answer.at("usage").at("total_tokens"), 3);
    }
  }
}

TEST(CompletionWriterTest, TellsLogprobsOfThePromptByTheirIdsAsVllmDoes) {
  CompletionOptions options = completion_options(false);
  options.prompt_top = 1;
  options.prompt_logprobs = {read_prompt()};
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kBody);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  EXPECT_EQ(json_of(data_of(out).front()).at("choices").at(0).at("prompt_logprobs"),
            json_of(R"([null,{"169":{"logprob":0.0,"rank":1,"decoded_token":"\ufffd"}},)"
                    R"({"58":{"logprob":-2000.0,"rank":3,"decoded_token":":"},)"
                    R"("66":{"logprob":0.0,"rank":1,"decoded_token":"B"}}])"));
}

TEST(CompletionWriterTest, APromptThatWasNotReadToItsEndHasNoLogprobs) {
  CompletionOptions options = echo_options(false);
  options.prompt_top = 1;
  auto prompt = std::make_shared<PromptLogprobs>(1);
  prompt->begin(std::vector<TokenId>{'a', 'b'});
  options.prompt_logprobs = {prompt};
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kBody);
  writer->end(std::vector{finish_of(FinishReason::kStop)}, out);
  const auto choice = json_of(data_of(out).front()).at("choices").at(0);
  EXPECT_TRUE(choice.at("prompt_logprobs").is_null());
  EXPECT_TRUE(choice.at("logprobs").at("tokens").as_array().empty());
}

TEST(CompletionWriterTest, StreamsLogprobsWhoseOffsetsGoOn) {
  CompletionOptions options = completion_options(true);
  options.logprobs = true;
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  for (int i = 0; i < 2; ++i) writer->delta(0, completion_delta_with_logprobs(), out);
  const auto data = data_of(out);
  ASSERT_EQ(data.size(), 2);
  const auto logprobs = [&](std::size_t i) {
    return json_of(data[i]).at("choices").at(0).at("logprobs");
  };
  EXPECT_EQ(logprobs(0), json_of(R"({"tokens":["A","bytes:\\xc3","bytes:\\xa9"],)"
                                 R"("token_logprobs":[-0.5,-3.0,-1.0],)"
                                 R"("top_logprobs":null,"text_offset":[0,1,2]})"));
  EXPECT_EQ(logprobs(1).at("text_offset"), json_of("[2,3,4]"));
}

TEST(CompletionWriterTest, WritesAKeyOnceWhereTokensLookAlike) {
  CompletionOptions options = completion_options(true);
  options.logprobs = true;
  options.top_logprobs = 2;
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  Delta delta = text_delta("a");
  delta.logprobs = {-2};
  delta.top_per_token = 2;
  delta.top = {{9999, -1}, {9998, -2}};  // neither is in the vocabulary
  writer->delta(0, delta, out);
  EXPECT_NE(out.bytes().find(R"("top_logprobs":[{"":-1)"), std::string_view::npos) << out.bytes();
  EXPECT_EQ(json_of(data_of(out).front())
                .at("choices")
                .at(0)
                .at("logprobs")
                .at("top_logprobs")
                .at(0)
                .as_object()
                .size(),
            2)
      << "with the token itself";
}

TEST(CompletionWriterTest, TellsTheUsageInAChunkOfItsOwn) {
  CompletionOptions options = completion_options(true);
  options.include_usage = true;
  const auto writer = make_completion_writer(std::move(options), byte_model());
  EventBatch out(Framing::kSse);
  writer->delta(0, text_delta("a"), out);
  writer->end(std::vector{finish_of(FinishReason::kStop, {7, 2})}, out);
  const auto data = data_of(out);
  ASSERT_EQ(data.size(), 4);
  EXPECT_TRUE(json_of(data[1]).at("usage").is_null());
  EXPECT_TRUE(json_of(data[2]).at("choices").as_array().empty());
  EXPECT_EQ(json_of(data[2]).at("usage").at("total_tokens"), 9);
}

TEST(CompletionWriterTest, TellsAFailureAndNothingAfter) {
  const ApiError error{.status = 429,
                       .type = "rate_limit_error",
                       .code = "overloaded",
                       .param = "prompt",
                       .message = "full"};
  const auto writer = make_completion_writer(completion_options(true), byte_model());
  EventBatch out(Framing::kSse);
  writer->fail(error, {}, out);
  EXPECT_THAT(data_of(out), ElementsAre(R"({"error":{"message":"full","type":"rate_limit_error",)"
                                        R"("param":"prompt","code":"overloaded"}})"));
  const auto plain = make_completion_writer(completion_options(false), byte_model());
  EventBatch body(Framing::kBody);
  plain->fail(error, {}, body);
  EXPECT_TRUE(body.empty()) << "it is the error's own status and body";
}

}  // namespace
}  // namespace weft
