#include "weft/actors/request/request_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/actors/letter_model.h"
#include "weft/tests/actors/pipeline_fixture.h"

namespace weft::test {
namespace {

// Tokens are two letters: 0 = "aa", 1 = "ba", 6 = "ab", 7 = "bb".
class RequestTextTest : public testing::Test {
 protected:
  void make(Request request, const RequestText::Options& options) {
    StopStrings stops = StopStrings::compile(request.stop).value();
    active_ = std::make_shared<ActiveRequest>(RequestId(1), std::move(request), sink_,
                                              TimePoint(Duration(1)));
    text_.emplace(*active_, letter_model(32).tokenizer, std::move(stops), options);
  }
  bool push(TokenId token, std::int32_t sequence = 0, SequenceEnd end = SequenceEnd::kNone,
            std::vector<TokenLogprob> top = {}) {
    TokenEvent event;
    event.sequence = sequence;
    event.token = token;
    event.logprob = -0.25F;
    event.end = end;
    return text_->push(event, top, TimePoint(Duration(5)));
  }
  Finish finish(GroupEnd how, std::vector<OutputEnd> outputs, Error error = {},
                GuessCounts guesses = {}) {
    EndMsg end{RequestTicket(active_), nullptr, how, std::move(error), std::move(outputs)};
    end.guesses = guesses;
    Finish finish = text_->finish(end, TimePoint(Duration(9)));
    std::move(end.ticket).finish(Finish(finish));
    return finish;
  }

  std::shared_ptr<KeepingSink> sink_ = std::make_shared<KeepingSink>();
  std::shared_ptr<ActiveRequest> active_;
  std::optional<RequestText> text_;
};

TEST_F(RequestTextTest, TokensComeAsTheyAreDrawn) {
  make({}, {});
  EXPECT_FALSE(push(0));
  EXPECT_EQ(sink_->texts.at(0), "aa");
  EXPECT_FALSE(push(7, 0, SequenceEnd::kLength));
  EXPECT_EQ(sink_->texts.at(0), "aabb");
  const Finish end = finish(GroupEnd::kDone, {{0, SequenceEnd::kLength, -0.5, {}}});
  EXPECT_EQ(end.reason, FinishReason::kLength);
  EXPECT_EQ(end.usage.output_tokens, 2);
  EXPECT_EQ(end.times.first_token, TimePoint(Duration(5)));
  EXPECT_EQ(end.times.ended, TimePoint(Duration(9)));
  EXPECT_DOUBLE_EQ(end.choices.at(0).cumulative_logprob, -0.5);
}

TEST_F(RequestTextTest, NoMoreGuessesAreSaidToBeAcceptedThanThereAreTokens) {
  make({}, {});
  push(0);
  push(7, 0, SequenceEnd::kLength);
  // The step went on behind the output's end.
  const Finish end = finish(GroupEnd::kDone, {{0, SequenceEnd::kLength, 0, {}}}, {},
                            {.accepted = 5, .rejected = 3});
  EXPECT_EQ(end.usage.accepted_guesses, 2);
  EXPECT_EQ(end.usage.rejected_guesses, 3);
}

TEST_F(RequestTextTest, TheTokenThatEndsAnOutputIsLeftOut) {
  make({}, {});
  push(0);
  push(7, 0, SequenceEnd::kStop);
  EXPECT_EQ(sink_->texts.at(0), "aa");
  EXPECT_EQ(sink_->tokens.at(0), (std::vector<TokenId>{0}));
  const Finish end = finish(GroupEnd::kDone, {{0, SequenceEnd::kStop, 0, {}}});
  EXPECT_EQ(end.reason, FinishReason::kStop);
  EXPECT_EQ(end.choices.at(0).stop_token, 7);
  EXPECT_EQ(end.usage.output_tokens, 2);
}

TEST_F(RequestTextTest, AStopStringEndsTheOutputBeforeItAndIsToldOnce) {
  Request request;
  request.stop = {"zz", "bba"};
  make(std::move(request), {});
  EXPECT_FALSE(push(0));
  EXPECT_FALSE(push(7));  // "bb" could be the beginning
  EXPECT_EQ(sink_->texts.at(0), "aa");
  EXPECT_TRUE(push(0));
  EXPECT_FALSE(push(1)) << "what was under way is dropped";
  EXPECT_EQ(sink_->texts.at(0), "aa");
  EXPECT_EQ(sink_->tokens.at(0).size(), 3U);
  const Finish end = finish(GroupEnd::kDone, {{0, SequenceEnd::kStop, 0, {}}});
  EXPECT_EQ(end.reason, FinishReason::kStop);
  EXPECT_EQ(end.choices.at(0).stop, "bba");
  EXPECT_EQ(end.choices.at(0).stop_token, kNoToken);
}

TEST_F(RequestTextTest, WhatWasHeldBackComesAtTheEnd) {
  Request request;
  request.stop = {"bba"};
  make(std::move(request), {});
  push(7);
  EXPECT_TRUE(sink_->texts.empty() || sink_->texts[0].empty());
  const Finish end = finish(GroupEnd::kStopped, {{0, SequenceEnd::kNone, 0, {}}});
  EXPECT_EQ(sink_->texts.at(0), "bb");
  EXPECT_EQ(end.reason, FinishReason::kStop);
}

TEST_F(RequestTextTest, EachOutputHasItsOwnTextAndReason) {
  make({}, {.sequences = 2});
  push(0, 0);
  push(7, 1, SequenceEnd::kStop);
  push(1, 0, SequenceEnd::kLength);
  const Finish end =
      finish(GroupEnd::kDone, {{0, SequenceEnd::kLength, 0, {}}, {1, SequenceEnd::kStop, 0, {}}});
  EXPECT_EQ(sink_->texts.at(0), "aaba");
  EXPECT_EQ(end.choices.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(end.choices.at(1).reason, FinishReason::kStop);
  EXPECT_EQ(end.usage.output_tokens, 3);
}

TEST_F(RequestTextTest, RankedOutputsAreGivenAtTheEndBestFirst) {
  make({}, {.sequences = 3, .ranked = true});
  push(0, 0);
  push(1, 1);
  push(7, 2);
  EXPECT_TRUE(sink_->texts.empty());
  const Finish end =
      finish(GroupEnd::kDone, {{2, SequenceEnd::kLength, -1, {}}, {0, SequenceEnd::kStop, -2, {}}});
  EXPECT_EQ(sink_->texts, (std::vector<std::string>{"bb", "aa"}));
  EXPECT_EQ(end.choices.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(end.choices.at(1).reason, FinishReason::kStop);
  EXPECT_EQ(end.usage.output_tokens, 3) << "of the one that was dropped too";
}

TEST_F(RequestTextTest, ABeamsTokensComeWithItsEnd) {
  Request request;
  request.stop = {"bba"};
  make(std::move(request), {.sequences = 2, .ranked = true});
  const Finish end = finish(GroupEnd::kDone, {{0, SequenceEnd::kStop, -1, {0, 1, 9}},
                                              {1, SequenceEnd::kLength, -2, {0, 7, 0, 1}}});
  EXPECT_EQ(sink_->texts, (std::vector<std::string>{"aaba", "aa"}));
  EXPECT_EQ(sink_->tokens.at(0), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(end.choices.at(0).stop_token, 9);
  EXPECT_EQ(end.choices.at(1).stop, "bba");
  EXPECT_EQ(end.choices.at(1).reason, FinishReason::kStop);
}

TEST_F(RequestTextTest, ABeamsTokensHaveTheirLogprobs) {
  Request request;
  request.stop = {"bba"};
  make(std::move(request), {.sequences = 2, .ranked = true, .logprobs = true});
  finish(GroupEnd::kDone, {{0, SequenceEnd::kStop, -1, {0, 1, 9}, {-0.1F, -0.2F, -0.3F}},
                           {1, SequenceEnd::kLength, -2, {0, 7, 0, 1}, {-1, -2, -3, -4}}});
  EXPECT_EQ(sink_->logprobs, (std::vector<float>{-0.1F, -0.2F, -1, -2, -3}));
}

TEST_F(RequestTextTest, AnOutputHasOneCauseOfItsEnd) {
  Request request;
  request.stop = {"ab", "aabb"};
  make(std::move(request), {});
  push(0);
  EXPECT_FALSE(push(6)) << "the longer one may come yet";
  push(7, 0, SequenceEnd::kStop);
  const Finish end = finish(GroupEnd::kDone, {{0, SequenceEnd::kStop, 0, {}}});
  EXPECT_EQ(end.choices.at(0).stop, "ab");
  EXPECT_EQ(end.choices.at(0).stop_token, kNoToken);
}

TEST_F(RequestTextTest, TopLogprobsAreAsManyForEachToken) {
  make({}, {.top_logprobs = 2, .logprobs = true});
  push(0, 0, SequenceEnd::kNone, {{0, -0.1F}, {1, -0.2F}, {2, -0.3F}});
  push(1, 0, SequenceEnd::kNone, {{1, 0}});
  push(2, 0, SequenceEnd::kNone, {});
  std::vector<TokenId> tokens;
  for (const TokenLogprob& one : sink_->top) tokens.push_back(one.token);
  EXPECT_EQ(tokens, (std::vector<TokenId>{0, 1, 1, kNoToken, kNoToken, kNoToken}));
  finish(GroupEnd::kDone, {});
}

// Thoughts stand between these.
constexpr TokenId kOpen = 20;   // "cd"
constexpr TokenId kClose = 34;  // "ef"

RequestText::Options thinking(bool ranked = false) {
  OutputFormat format;
  format.thoughts = {letters_of(kOpen), letters_of(kClose)};
  RequestText::Options options;
  options.ranked = ranked;
  options.sequences = ranked ? 2 : 1;
  options.format = ModelFormat::make(format, letter_model(32).tokenizer);
  return options;
}

TEST_F(RequestTextTest, WithLogprobsATokenComesWithAllOfItsText) {
  Request request;
  request.stop = {"bba"};
  make(std::move(request), {.logprobs = true});
  push(0);
  push(6);  // "ab", of which 'b' may begin the stop string
  EXPECT_EQ(sink_->texts.at(0), "aa") << "text does not come without its token";
  EXPECT_EQ(sink_->tokens.at(0), (std::vector<TokenId>{0}));
  push(0);
  EXPECT_EQ(sink_->texts.at(0), "aaabaa");
  EXPECT_EQ(sink_->tokens.at(0), (std::vector<TokenId>{0, 6, 0}));
  push(6);
  EXPECT_TRUE(push(1)) << "\"ab\" and \"ba\": the stop string begins inside of a token";
  finish(GroupEnd::kDone, {{0, SequenceEnd::kStop, 0, {}}});
  EXPECT_EQ(sink_->texts.at(0), "aaabaaa");
  EXPECT_EQ(sink_->token_texts, (std::vector<std::string>{"aa", "ab", "aa", "a", ""}));
  EXPECT_EQ(sink_->logprobs.size(), 5U);
}

TEST_F(RequestTextTest, WithLogprobsTokensOfTagsMadeNoText) {
  RequestText::Options options = thinking();
  options.logprobs = true;
  Request request;
  request.typed_output = true;
  make(std::move(request), options);
  for (const TokenId token : {kOpen, TokenId{0}, kClose, TokenId{1}}) push(token);
  push(7, 0, SequenceEnd::kLength);
  finish(GroupEnd::kDone, {{0, SequenceEnd::kLength, 0, {}}});
  EXPECT_EQ(sink_->token_texts, (std::vector<std::string>{"", "aa", "", "ba", "bb"}));
}

TEST_F(RequestTextTest, RankedOutputsHaveTheTextsOfTheirTokens) {
  make({}, {.sequences = 2, .ranked = true, .logprobs = true});
  for (const TokenId token : {0, 1}) push(token, 0);
  push(7, 1);
  finish(GroupEnd::kDone, {{0, SequenceEnd::kLength, -1, {}}});
  EXPECT_EQ(sink_->token_texts, (std::vector<std::string>{"aa", "ba"}));
}

TEST_F(RequestTextTest, LogprobsComeOnlyWhereTheyWereAskedFor) {
  const std::vector<TokenLogprob> top = {{0, -0.1F}, {1, -0.2F}, {2, -0.3F}};
  make({}, {.top_logprobs = 2, .logprobs = true});
  push(0, 0, SequenceEnd::kNone, top);
  EXPECT_EQ(sink_->logprobs, (std::vector<float>{-0.25F}));
  ASSERT_EQ(sink_->top.size(), 2U);
  EXPECT_EQ(sink_->top[1].token, 1);
  finish(GroupEnd::kDone, {});
  sink_ = std::make_shared<KeepingSink>();
  make({}, {});
  push(0, 0, SequenceEnd::kNone, top);
  EXPECT_TRUE(sink_->logprobs.empty());
  EXPECT_TRUE(sink_->top.empty());
  finish(GroupEnd::kDone, {});
}

TEST_F(RequestTextTest, AfterALossNothingMoreIsGiven) {
  Request request;
  request.stop = {"bba"};
  make(std::move(request), {});
  push(7);
  text_->give_up();
  push(0);
  const Finish end =
      finish(GroupEnd::kFailed, {{0, SequenceEnd::kNone, 0, {}}}, {EngineErrc::kInternal, {}});
  EXPECT_EQ(end.reason, FinishReason::kError);
  EXPECT_EQ(end.error.code, EngineErrc::kInternal);
  EXPECT_EQ(sink_->texts.at(0), "");
}

TEST_F(RequestTextTest, ACancelledRequestSaysSo) {
  make({}, {});
  push(0);
  const Finish end =
      finish(GroupEnd::kCancelled, {{0, SequenceEnd::kNone, 0, {}}}, {EngineErrc::kCancelled, {}});
  EXPECT_EQ(end.reason, FinishReason::kCancelled);
  EXPECT_EQ(end.choices.at(0).reason, FinishReason::kCancelled);
}

std::vector<PieceMark> marks_of(const TypedText& text) {
  return {text.marks().begin(), text.marks().end()};
}

TEST_F(RequestTextTest, ATypedOutputHasThoughtsAndTextWithoutTheirTags) {
  Request request;
  request.typed_output = true;
  make(std::move(request), thinking());
  for (const TokenId token : {kOpen, 0, 1, kClose}) push(token);
  push(1, 0, SequenceEnd::kLength);
  EXPECT_EQ(sink_->texts.at(0), "aababa");
  EXPECT_EQ(marks_of(sink_->typed.at(0)),
            (std::vector<PieceMark>{{0, PieceKind::kReasoning}, {4, PieceKind::kText}}));
  const Finish end = finish(GroupEnd::kDone, {{0, SequenceEnd::kLength, 0, {}}});
  EXPECT_EQ(end.usage.output_tokens, 5);
  EXPECT_EQ(end.usage.reasoning_tokens, 3);
}

TEST_F(RequestTextTest, AnOutputThatIsRankedAtTheEndIsTypedToo) {
  Request request;
  request.typed_output = true;
  make(std::move(request), thinking(true));
  push(0, 0, SequenceEnd::kLength);
  for (const TokenId token : {kOpen, 0, kClose}) push(token, 1);
  push(1, 1, SequenceEnd::kLength);
  EXPECT_TRUE(sink_->texts.empty());
  finish(GroupEnd::kDone, {{1, SequenceEnd::kLength, 0, {}}});
  EXPECT_EQ(sink_->texts.at(0), "aaba");
  EXPECT_EQ(marks_of(sink_->typed.at(0)),
            (std::vector<PieceMark>{{0, PieceKind::kReasoning}, {2, PieceKind::kText}}));
}

TEST_F(RequestTextTest, WhatIsNoCallAfterAllIsText) {
  OutputFormat format;
  format.calls.body = CallBody::kNamed;
  format.calls.open = "ab";
  format.calls.name_close = "bb";
  RequestText::Options options;
  options.format = ModelFormat::make(format, letter_model(32).tokenizer);
  options.parser.tools = std::make_shared<const ToolSchemas>();
  options.parser.one_call = true;
  Request request;
  request.typed_output = true;
  make(std::move(request), options);
  for (const TokenId token : {6, 0, 7}) EXPECT_FALSE(push(token));  // a name, and no arguments
  EXPECT_FALSE(push(0)) << "so it is text";
  push(0, 0, SequenceEnd::kLength);
  EXPECT_EQ(sink_->texts.at(0), "abaabbaaaa");
  EXPECT_EQ(finish(GroupEnd::kDone, {{0, SequenceEnd::kLength, 0, {}}}).choices.at(0).calls, 0);
}

}  // namespace
}  // namespace weft::test
