#include "weft/text/chat_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

using test::FailsWith;
using Tokens = std::vector<TokenId>;

constexpr std::chrono::local_seconds kNow{};

/// Tokens a to e, and the BOS, which it puts before every text.
constexpr std::string_view kTokenizer = R"({
  "added_tokens": [{"id": 5, "content": "<s>", "special": true}],
  "decoder": {"type": "Fuse"},
  "post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens":
    {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}},
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}, "merges": []}})";

class ChatEncoderTest : public testing::Test {
 protected:
  static Tokenizer load(std::string_view config) {
    const test::TempFolder folder;
    folder.write("tokenizer.json", kTokenizer);
    folder.write("tokenizer_config.json", config);
    return Tokenizer::load(folder.path()).value();
  }
  static Conversation says(std::string_view content) {
    return {.messages = {{{"role", "user"}, {"content", content}}}};
  }

  const Tokenizer tokenizer_ = load(R"({"bos_token": "<s>", "chat_template":
      "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}{{ tools }}"})");
};

TEST_F(ChatEncoderTest, GivesTheSpecialTokensThatTheTemplateWritesAndNoOthers) {
  const ChatEncoder none(tokenizer_, "{{ messages[0].content }}");
  EXPECT_EQ(none.encode(says("ab"), kNow).value(), (Tokens{0, 1}));
  const ChatEncoder chat(tokenizer_, "{{ bos_token }}{{ messages[0].content }}");
  EXPECT_EQ(chat.encode(says("ab"), kNow).value(), (Tokens{5, 0, 1}));
}

TEST_F(ChatEncoderTest, TakesTheTokenizersOwnTemplate) {
  Conversation conversation = says("ab");
  conversation.tools = "cd";
  EXPECT_EQ(ChatEncoder(tokenizer_).encode(std::move(conversation), kNow).value(),
            (Tokens{5, 0, 1, 2, 3}));
}

TEST_F(ChatEncoderTest, PassesOnWhatAConversationSaysBesideItsMessages) {
  const ChatEncoder chat(tokenizer_,
                         "{{ tools }}{{ reasoning_effort }}"
                         "{% if add_generation_prompt %}e{% endif %}");
  Conversation conversation = says("ab");
  conversation.tools = "b";
  conversation.chat_template_kwargs = {{"reasoning_effort", "c"}};
  EXPECT_EQ(chat.encode(conversation, kNow).value(), (Tokens{1, 2, 4}));
  conversation.add_generation_prompt = false;
  EXPECT_EQ(chat.encode(conversation, kNow).value(), (Tokens{1, 2}));
}

TEST_F(ChatEncoderTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(ChatEncoder(tokenizer_, "").encode(says("a"), kNow),
              FailsWith(TextErrc::kBadTemplate, "messages: the model has no chat template"));
  EXPECT_THAT(ChatEncoder(tokenizer_, "\n{% if %}").encode(says("a"), kNow),
              FailsWith(TextErrc::kBadTemplate, "messages: chat_template:2:"));
  const ChatEncoder refusing(tokenizer_, "{{ raise_exception('no') }}");
  EXPECT_THAT(refusing.encode(says("a"), kNow),
              FailsWith(TextErrc::kTemplateFailed, "messages: chat_template:1: no"));
  Conversation conversation = says("a");
  conversation.chat_template_kwargs = {{"messages", "mine"}};
  const auto refused = ChatEncoder(tokenizer_).encode(std::move(conversation), kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TextErrc::kBadTemplateKwarg);
  EXPECT_EQ(refused.error().detail, "chat_template_kwargs: 'messages' is not allowed");
}

}  // namespace
}  // namespace weft
