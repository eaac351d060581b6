#include "weft/net/api/chat/fitted_roles.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "weft/net/api/chat/conversation.h"

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

}  // namespace
}  // namespace weft
