#include "weft/actors/request/prompt/shortened_conversation.h"

#include <gtest/gtest.h>

#include <bit>
#include <boost/json/value.hpp>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

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

/// A way of encoding that counts what it is given.
class CountedEncoding {
 public:
  explicit CountedEncoding(std::size_t most) : most_(most) {}

  /// A content that begins with "dense" has a token for each byte, any other one for four bytes.
  static std::size_t tokens_of(const boost::json::value& message) {
    const std::string_view content = message.at("content").get_string();
    return content.starts_with("dense") ? content.size() : (content.size() + 3) / 4;
  }

  Result<std::vector<TokenId>> operator()(const Conversation& conversation) {
    ++calls;
    messages += conversation.messages.size();
    std::size_t tokens = 0;
    for (const boost::json::value& message : conversation.messages) tokens += tokens_of(message);
    if (tokens > most_) return too_many_tokens(tokens);
    return std::vector<TokenId>(tokens, TokenId(conversation.messages.size()));
  }

  int calls = 0;
  std::size_t messages = 0;

 private:
  const std::size_t most_;
};

boost::json::value said(std::string_view content) {
  return {{"role", "user"}, {"content", content}};
}

/// Returns how many messages are left.
std::size_t count_left(CountedEncoding& encoding, const Conversation& conversation,
                       std::size_t most) {
  const auto tokens = shortened_tokens(std::ref(encoding), conversation, most);
  return tokens ? static_cast<std::size_t>(tokens->front()) : 0;
}

TEST(ShortenedConversationWorkTest, OfThousandsOfMessagesOnlyThoseThatMayFitAreEncoded) {
  constexpr std::size_t kMost = 1000;
  constexpr std::size_t kAll = 8192;
  constexpr std::size_t kLeft = 10;  // 100 tokens each
  Conversation conversation;
  for (std::size_t i = 0; i < kAll; ++i)
    conversation.messages.push_back(said(std::string(400, 'a')));
  CountedEncoding encoding(kMost);
  EXPECT_EQ(count_left(encoding, conversation, kMost), kLeft);
  EXPECT_LE(encoding.calls, 5);
  EXPECT_LE(encoding.messages, kAll + 4 * kLeft);
}

TEST(ShortenedConversationWorkTest, BytesThatSayNothingAboutTokensCostFewTriesAsWell) {
  constexpr std::size_t kMost = 10'000;
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (int play = 0; play < 15; ++play) {
    Conversation conversation;
    const std::size_t count = 2 + random() % 4000;
    for (std::size_t i = 0; i < count; ++i) {
      std::string content = random() % 3 == 0 ? "dense" : "a";
      content.append(random() % 10 == 0 ? random() % 3000 : random() % 30, 'a');
      conversation.messages.push_back(said(content));
    }
    std::size_t left = 0;
    std::size_t tokens = 0;
    while (left < count) {
      tokens += CountedEncoding::tokens_of(conversation.messages[count - 1 - left]);
      if (tokens > kMost) break;
      ++left;
    }
    CountedEncoding encoding(kMost);
    EXPECT_EQ(count_left(encoding, conversation, kMost), left) << play;
    EXPECT_LE(encoding.calls, 1 + 5 + std::bit_width(count)) << play;
  }
}

}  // namespace
}  // namespace weft
