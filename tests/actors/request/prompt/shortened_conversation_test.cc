#include "weft/actors/request/prompt/shortened_conversation.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>

#include "weft/tests/net/api/tiny_model.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

/// One token for each message: its role and content are letters that are tokens of their own.
class ShortenedConversationTest : public testing::Test {
 public:
  /// What is left of messages that are written "sabu": s a system's, u a user's, a an assistant's,
  /// t a tool's; as their contents, which are their places.
  std::string left(std::string_view roles, std::size_t most) {
    Conversation conversation;
    char content = 'k';
    for (const char role : roles) {
      const std::string_view name = role == 's'   ? "system"
                                    : role == 'u' ? "user"
                                    : role == 'a' ? "assistant"
                                                  : "tool";
      conversation.messages.push_back({{"role", name}, {"content", std::string_view(&content, 1)}});
      ++content;
    }
    const auto tokens = shortened_tokens(chat_, conversation, {}, most);
    if (!tokens) return tokens.error().code == TextErrc::kTooManyTokens ? "too long" : "failed";
    return tokenizer_.decode(*tokens, true).value();
  }

 private:
  Tokenizer tokenizer_ = test::tiny_model().tokenizer;
  ChatEncoder chat_{tokenizer_, "{% for m in messages %}{{ m.content }}{% endfor %}"};
};

TEST_F(ShortenedConversationTest, WhatFitsStaysWhole) {
  EXPECT_EQ(left("suauau", 7), "klmnop") << "with the token before a text";
}

TEST_F(ShortenedConversationTest, TheOldestMessagesGoAndTheSystemsStay) {
  EXPECT_EQ(left("suauau", 6), "knop") << "not with an answer in front";
  EXPECT_EQ(left("suauau", 5), "knop");
  EXPECT_EQ(left("suauau", 4), "kp");
  EXPECT_EQ(left("uauau", 4), "mno");
  EXPECT_EQ(left("suuuuuuuuu", 4), "kst");
}

TEST_F(ShortenedConversationTest, BehindTheLastQuestionWhatIsLeftBeginsWithNoResult) {
  EXPECT_EQ(left("uatatat", 7), "lmnopq") << "a call, its result, and what followed";
  EXPECT_EQ(left("uatatat", 6), "nopq");
  EXPECT_EQ(left("uatatat", 3), "pq");
}

TEST_F(ShortenedConversationTest, TheLastMessageAndItsCallsAreNeverLeftOut) {
  EXPECT_EQ(left("uatatat", 2), "too long");
  EXPECT_EQ(left("u", 1), "too long");
  EXPECT_EQ(left("su", 2), "too long");
}

}  // namespace
}  // namespace weft
