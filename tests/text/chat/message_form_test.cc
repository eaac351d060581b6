#include "weft/text/chat/message_form.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::chrono::local_seconds kAnyTime{};
constexpr std::string_view kCut = R"({"city": "Par)";

ChatTemplate read_template(std::string_view source) {
  return ChatTemplate::parse(source, "model").value();
}

/// Returns the arguments that the template gets for these, as JSON.
std::string arguments_for(std::string_view source, json::value arguments) {
  json::array messages{
      {{"role", "assistant"},
       {"tool_calls", {{{"function", {{"name", "f"}, {"arguments", std::move(arguments)}}}}}}}};
  MessageForm(read_template(source), {}).apply(messages);
  return json::serialize(messages[0].at("tool_calls").at(0).at("function").at("arguments"));
}

/// A template that takes only objects.
constexpr std::string_view kItems =
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
    "{% for k, v in c.function.arguments | items %}{{ k }}={{ v }};{% endfor %}"
    "{% endfor %}{% endfor %}";
/// A template that takes objects and texts.
constexpr std::string_view kEither =
    "{% for m in messages %}{% for c in m.tool_calls or [] %}{% set a = c.function.arguments %}"
    "{{ a if a is string else a | tojson }}{% endfor %}{% endfor %}";
/// A template that takes only texts.
constexpr std::string_view kText =
    "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ 'call ' + c.function.arguments }}"
    "{% endfor %}{% endfor %}";

TEST(MessageFormTest, NoArgumentsAreAnEmptyObject) {
  for (const json::value& none :
       {json::value(), json::value(json::array()), json::value(json::object()), json::value(""),
        json::value("null"), json::value("[]"), json::value(" {} ")}) {
    EXPECT_EQ(arguments_for(kItems, none), "{}") << none;
    EXPECT_EQ(arguments_for(kEither, none), "{}") << none;
    EXPECT_EQ(arguments_for(kText, none), R"("{}")") << none;
  }
  json::array messages{{{"role", "assistant"}, {"tool_calls", {{{"function", {{"name", "f"}}}}}}}};
  MessageForm(read_template(kItems), {}).apply(messages);
  EXPECT_EQ(messages[0].at("tool_calls").at(0).at("function").at("arguments"), json::object());
}

TEST(MessageFormTest, ArgumentsHaveTheTemplatesType) {
  const json::object arguments{{"a", 1}};
  EXPECT_EQ(arguments_for(kItems, arguments), R"({"a":1})");
  EXPECT_EQ(arguments_for(kEither, arguments), R"({"a":1})");
  EXPECT_EQ(arguments_for(kText, arguments), R"("{\"a\":1}")");
  EXPECT_EQ(arguments_for(kItems, R"({"a": 1})"), R"({"a":1})");
  EXPECT_EQ(arguments_for(kText, R"({"a": 1})"), R"("{\"a\": 1}")") << "as it was written";
}

TEST(MessageFormTest, ArgumentsThatAreNoObjectReachTheTemplateAsTheirText) {
  for (const auto& [what, text] : {std::pair<json::value, std::string>(kCut, kCut),
                                   {"no JSON", "no JSON"},
                                   {"5", "5"},
                                   {json::value(5), "5"},
                                   {json::array{1}, "[1]"},
                                   {"\"quoted\"", "\"quoted\""},
                                   {json::value(true), "true"}}) {
    const std::string shown = json::serialize(json::value(text));
    EXPECT_EQ(arguments_for(kItems, what), R"({"INVALID_JSON":)" + shown + "}");
    EXPECT_EQ(arguments_for(kEither, what), shown);
    EXPECT_EQ(arguments_for(kText, what), shown);
  }
}

TEST(MessageFormTest, APublicTemplateThatShowsACallShowsOneThatWasCut) {
  const std::filesystem::path folder = test::source_path("../shared/data/templates/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int shown = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") continue;
    const ChatTemplate chat =
        read_template(read_text_file(entry.path(), std::size_t{1} << 20).value());
    const json::object special{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    const auto render = [&](json::value arguments) {
      ChatTemplateInput input;
      input.special_tokens = special;
      const json::object call{{"id", "call00001"},
                              {"type", "function"},
                              {"function", {{"name", "f"}, {"arguments", std::move(arguments)}}}};
      input.messages = {
          {{"role", "user"}, {"content", "x"}},
          {{"role", "assistant"}, {"content", ""}, {"tool_calls", json::array{call}}},
          {{"role", "tool"}, {"content", "y"}, {"tool_call_id", "call00001"}, {"name", "f"}}};
      MessageForm(chat, special).apply(input.messages);
      return chat.render(input, kAnyTime);
    };
    const auto whole = render(json::object{{"city", "Paris"}});
    if (!whole || whole->find("Paris") == std::string::npos) continue;
    const auto cut = render(json::string(kCut));
    ASSERT_TRUE(cut) << entry.path() << ": " << to_string(cut.error());
    EXPECT_NE(cut->find("Par"), std::string::npos) << entry.path();
    EXPECT_TRUE(render(nullptr)) << entry.path();
    EXPECT_TRUE(render(json::array())) << entry.path();
    ++shown;
  }
  EXPECT_GE(shown, 15);
}

json::value content_for(std::string_view source, std::string_view role) {
  const json::array parts{{{"type", "text"}, {"text", "one"}}, {{"type", "text"}, {"text", "two"}}};
  json::array messages{{{"role", role}, {"content", parts}}};
  MessageForm(read_template(source), {}).apply(messages);
  return messages[0].at("content");
}

TEST(MessageFormTest, PartsAreAListWhereTheTemplateTakesListsAndElseLines) {
  constexpr std::string_view kUsersLists =
      "{% for m in messages %}{% if m.role == 'user' and m.content is not string %}"
      "{% for p in m.content %}{{ p.text }}{% endfor %}{% else %}{{ m.content }}{% endif %}"
      "{% endfor %}";
  EXPECT_TRUE(content_for(kUsersLists, "user").is_array());
  for (const char* role : {"system", "assistant", "tool"}) {
    EXPECT_EQ(content_for(kUsersLists, role), "one\ntwo") << role;
  }
  constexpr std::string_view kTexts = "{% for m in messages %}{{ m.content + '' }}{% endfor %}";
  constexpr std::string_view kPrints = "{% for m in messages %}{{ m.content }}{% endfor %}";
  EXPECT_EQ(content_for(kTexts, "user"), "one\ntwo");
  EXPECT_EQ(content_for(kPrints, "user"), "one\ntwo");
}

TEST(MessageFormTest, WhatIsNoTextPartIsLeftAlone) {
  json::array messages{{{"role", "user"}, {"content", {{{"type", "image"}}}}}, 5};
  MessageForm(read_template("x"), {}).apply(messages);
  EXPECT_TRUE(messages[0].at("content").is_array());
}

}  // namespace
}  // namespace weft
