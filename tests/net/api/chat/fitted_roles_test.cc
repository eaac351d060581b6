#include "weft/net/api/chat/fitted_roles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/text/chat/chat_template.h"

namespace weft {
namespace {

namespace json = boost::json;

struct Said {
  std::string_view role;
  std::string_view text;
};

/// Returns "role:text" of each message once they are fitted.
std::string fitted(std::initializer_list<Said> said, const RoleOrder& order) {
  json::array messages;
  for (const Said& one : said) messages.push_back(message_of(one.role, one.text));
  std::string result;
  for (const json::value& message : fitted_roles(std::move(messages), order)) {
    const json::string& role = message.at("role").as_string();
    const json::string& text = message.at("content").as_string();
    if (!result.empty()) result += ' ';
    result.append(role.data(), role.size()).append(":").append(text.data(), text.size());
  }
  return result;
}

TEST(FittedRolesTest, WhatTheTemplateTakesStaysAsItIs) {
  EXPECT_EQ(fitted({{"system", "s"},
                    {"developer", "d"},
                    {"user", "u"},
                    {"user", "v"},
                    {"system", "t"},
                    {"assistant", "a"},
                    {"tool", "r"},
                    {"user", "w"}},
                   {}),
            "system:s developer:d user:u user:v system:t assistant:a tool:r user:w");
}

TEST(FittedRolesTest, SystemMessagesUpToTheFirstAnswerBecomeOneInFront) {
  EXPECT_EQ(fitted({{"system", "s"},
                    {"developer", "d"},
                    {"user", "u"},
                    {"system", "t"},
                    {"assistant", "a"},
                    {"system", "x"},
                    {"user", "v"}},
                   {.systems = false}),
            "system:s\n\nd\n\nt user:u assistant:a user:x user:v");
}

TEST(FittedRolesTest, MessagesOfTheUserInARowBecomeOne) {
  EXPECT_EQ(fitted({{"system", "s"},
                    {"user", "u"},
                    {"user", "v"},
                    {"assistant", "a"},
                    {"system", "x"},
                    {"user", "w"}},
                   {.systems = false, .repeats = false}),
            "system:s user:u\n\nv assistant:a user:x\n\nw");
  EXPECT_EQ(
      fitted({{"user", "u"}, {"assistant", "a"}, {"tool", "r"}, {"user", "v"}}, {.repeats = false}),
      "user:u assistant:a tool:r user:v");
  EXPECT_EQ(fitted({{"user", "u"}, {"assistant", "a"}, {"tool", "r"}, {"user", "v"}},
                   {.repeats = false, .after_result = false}),
            "user:u assistant:a tool:r\n\nv");
}

TEST(FittedRolesTest, WithoutSystemMessagesTheUsersFirstOneBeginsWithThem) {
  EXPECT_EQ(fitted({{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"user", "v"}},
                   {.system = false, .systems = false}),
            "user:s\n\nu assistant:a user:v");
}

/// Renders a conversation; empty where the template fails.
std::string rendered(const ChatTemplate& chat_template, const json::array& messages) {
  ChatTemplateInput input;
  input.messages = messages;
  input.add_generation_prompt = true;
  const auto prompt = chat_template.render(input, std::chrono::local_seconds{});
  return prompt ? *prompt : std::string();
}

/// An agent's conversation. Each text but that of a call is its own.
json::array agent_conversation() {
  json::array messages;
  for (const Said& said :
       {Said{"system", "text-a"}, Said{"system", "text-b"}, Said{"user", "text-c"},
        Said{"user", "text-d"}, Said{"system", "text-e"}, Said{"assistant", "text-f"},
        Said{"user", "text-g"}, Said{"system", "text-h"}, Said{"user", "text-i"}}) {
    messages.push_back(message_of(said.role, said.text));
  }
  return messages;
}

TEST(FittedRolesTest, TemplatesOfPublishedModelsTakeAnAgentsConversation) {
  const std::filesystem::path folder = test::source_path("../shared/data/templates");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared/data";
  std::size_t fitted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream file(entry.path());
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const auto parsed = ChatTemplate::parse(source, "chat_template");
    ASSERT_TRUE(parsed) << entry.path();
    const json::array plain{message_of("user", "q"), message_of("assistant", "a"),
                            message_of("user", "r")};
    if (rendered(*parsed, plain).empty())
      continue;  // the template needs variables that this test
                 // does not set
    const RoleOrder order = role_order_of(*parsed, json::object(), false);
    if (!order.systems || !order.repeats) ++fitted;
    const json::array messages = fitted_roles(agent_conversation(), order);
    const std::string prompt = rendered(*parsed, messages);
    for (char c = 'a'; c <= 'i'; ++c) {
      EXPECT_NE(prompt.find(std::string("text-") + c), std::string::npos)
          << entry.path() << " leaves out text-" << c;
    }
  }
  EXPECT_GT(fitted, 3U);
}

}  // namespace
}  // namespace weft
