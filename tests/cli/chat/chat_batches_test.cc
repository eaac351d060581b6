#include "weft/cli/chat/chat_batches.h"

#include <gmock/gmock.h>

namespace weft::cli {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

std::vector<BatchPrompt> prompts(std::size_t count) {
  std::vector<BatchPrompt> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back({.input = boost::json::value("p" + std::to_string(i))});
  }
  return list;
}

AnswerEnd completed() { return {}; }
AnswerEnd refused_for_now() {
  return {.kind = AnswerEnd::Kind::kRefused, .why = "full", .again = true};
}
AnswerEnd lost() { return {.kind = AnswerEnd::Kind::kFailed, .why = "lost", .again = true}; }
AnswerEnd one_too_many() {
  return {.kind = AnswerEnd::Kind::kRefused, .again = true, .fewer_streams = true};
}

class ChatBatchesTest : public testing::Test {
 protected:
  /// Asks all that can be asked now; returns the ids.
  std::vector<std::string> ask_all() {
    std::vector<std::string> ids;
    while (const auto next = batches_.next(now_)) ids.push_back(next->id);
    return ids;
  }
  void end(const std::string& id, AnswerEnd end, const std::string& text = {}) {
    EXPECT_TRUE(batches_.on_news({.id = id, .text = text, .end = std::move(end)}, now_));
  }

  ChatBatches batches_;
  ChatBatches::Time now_{};
};

TEST_F(ChatBatchesTest, GroupsAnswersByBatchInTheOrderOfTheirPrompts) {
  EXPECT_EQ(batches_.add(prompts(2)), 1);
  EXPECT_EQ(batches_.add(prompts(1)), 2);
  EXPECT_THAT(ask_all(), ElementsAre("b1-0", "b1-1", "b2-0"));
  end("b1-1", completed(), "second");
  EXPECT_FALSE(batches_.take_finished());
  end("b2-0", completed(), "other");
  batches_.on_news({.id = "b1-0", .text = "fi"}, now_);
  end("b1-0", completed(), "rst");
  const auto first = batches_.take_finished();
  ASSERT_TRUE(first);
  EXPECT_EQ(shown(*first), "batch 1\n[1] p0\nfirst\n[2] p1\nsecond\n");
  EXPECT_EQ(batches_.take_finished()->number, 2);
  EXPECT_FALSE(batches_.take_finished());
}

TEST_F(ChatBatchesTest, AsksNoMoreAtOnceThanThereAreStreams) {
  ASSERT_TRUE(batches_.add(prompts(ChatBatches::kStreams + 2)));
  EXPECT_EQ(ask_all().size(), ChatBatches::kStreams);
  end("b1-3", completed());
  EXPECT_EQ(ask_all().size(), 1U);
}

TEST_F(ChatBatchesTest, AsksAgainAfterAPauseWhatWasRefusedForNow) {
  ASSERT_TRUE(batches_.add(prompts(1)));
  ask_all();
  end("b1-0", refused_for_now(), "lost");
  EXPECT_EQ(batches_.all().front().waits_for, "full");
  EXPECT_THAT(ask_all(), ElementsAre());
  ASSERT_EQ(batches_.due(), now_ + Retry::kFirstPause);
  now_ += Retry::kFirstPause;
  EXPECT_THAT(ask_all(), ElementsAre("b1-0"));
  end("b1-0", completed(), "told");
  EXPECT_EQ(shown(*batches_.take_finished()), "batch 1\n[1] p0\ntold\n");
}

TEST_F(ChatBatchesTest, GivesUpWhatFailsOnEveryTry) {
  ASSERT_TRUE(batches_.add(prompts(1)));
  for (int i = 0; i < Retry::kTries; ++i) {
    ASSERT_THAT(ask_all(), ElementsAre("b1-0"));
    end("b1-0", lost());
    if (const auto due = batches_.due()) now_ = *due;
  }
  EXPECT_EQ(shown(*batches_.take_finished()), "batch 1\n[1] p0\n(failed: lost)\n");
}

TEST_F(ChatBatchesTest, AsksAFullServerForAsLongAsItTakes) {
  ASSERT_TRUE(batches_.add(prompts(1)));
  for (int i = 0; i < 10 * Retry::kTries; ++i) {
    ASSERT_THAT(ask_all(), ElementsAre("b1-0"));
    end("b1-0", refused_for_now());
    ASSERT_TRUE(batches_.due());
    now_ = *batches_.due();
  }
}

TEST_F(ChatBatchesTest, LeavesTheConversationAStreamOfTheFewThatTheServerAllows) {
  constexpr std::size_t kAllowed = 4;
  ASSERT_TRUE(batches_.add(prompts(ChatBatches::kStreams)));
  const auto ids = ask_all();
  for (std::size_t i = kAllowed; i < ids.size(); ++i) end(ids[i], one_too_many());
  now_ += seconds(60);
  EXPECT_THAT(ask_all(), ElementsAre()) << "four are under way";
  for (std::size_t i = 0; i < kAllowed; ++i) end(ids[i], completed());
  EXPECT_EQ(ask_all().size(), kAllowed - 1);
}

TEST_F(ChatBatchesTest, CancelsWhatWaitsAndNamesWhatRuns) {
  ASSERT_TRUE(batches_.add(prompts(ChatBatches::kStreams + 1)));
  ask_all();
  const auto running = batches_.cancel(1);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->size(), ChatBatches::kStreams);
  for (const std::string& id : *running) {
    end(id, id == "b1-0" ? refused_for_now() : AnswerEnd{.kind = AnswerEnd::Kind::kCancelled});
  }
  EXPECT_THAT(ask_all(), ElementsAre());
  EXPECT_TRUE(batches_.idle());
  EXPECT_FALSE(batches_.cancel(1)) << "it is finished";
  EXPECT_FALSE(batches_.cancel(7));
}

TEST_F(ChatBatchesTest, RefusesABatchWhenThereAreTooMany) {
  for (std::size_t i = 0; i < ChatBatches::kMaxBatches; ++i) EXPECT_TRUE(batches_.add(prompts(1)));
  EXPECT_FALSE(batches_.add(prompts(1)));
}

TEST_F(ChatBatchesTest, KnowsTheAnswersThatAreNotItsOwn) {
  ASSERT_TRUE(batches_.add(prompts(1)));
  for (const char* id : {"c1", "b", "b1", "b1-", "b1-1", "b2-0", "b1-0x", ""}) {
    EXPECT_FALSE(batches_.on_news({.id = id, .end = completed()}, now_)) << id;
  }
}

}  // namespace
}  // namespace weft::cli
