#include "weft/text/chat/call_ids.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace weft {
namespace {

namespace json = boost::json;

bool wants(std::string_view source) {
  const auto parsed = ChatTemplate::parse(source, "chat_template");
  EXPECT_TRUE(parsed);
  return parsed && wants_named_ids(*parsed, {});
}

TEST(CallIdsTest, ATemplateThatPrintsTheIdAloneWantsItToNameTheFunction) {
  EXPECT_TRUE(
      wants("{% for m in messages %}{% for c in m.tool_calls or [] %}<|tool_call_begin|>"
            "{{ c.id }}<|tool_call_argument_begin|>{{ c.function.arguments | tojson }}"
            "{% endfor %}{% endfor %}"));
  EXPECT_FALSE(
      wants("{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.id }}"
            "{{ c.function.name }}{% endfor %}{% endfor %}"));
  EXPECT_FALSE(wants("{% for m in messages %}{{ m.content }}{% endfor %}"));
  EXPECT_FALSE(wants("{{ raise_exception('no') }}"));
}

TEST(CallIdsTest, IdsNameTheirFunctionsAndResultsFollowThem) {
  json::array messages = json::parse(R"([
    {"role": "user", "content": "x"},
    {"role": "assistant", "tool_calls": [
      {"id": "functions.f:0", "function": {"name": "f", "arguments": {}}},
      {"id": "call_ab1", "function": {"name": "g", "arguments": {}}}]},
    {"role": "tool", "tool_call_id": "call_ab1", "content": "2"},
    {"role": "tool", "tool_call_id": "functions.f:0", "content": "1"},
    {"role": "assistant", "tool_calls": [
      {"id": "functions.f:x", "function": {"name": "f", "arguments": {}}},
      {"function": {"name": "g"}}, 7, {"id": "a", "function": {}}]},
    {"role": "tool", "tool_call_id": "other", "content": "3"}])")
                             .as_array();
  name_call_ids(messages);
  const auto id = [&](std::size_t message, std::size_t call) {
    return std::string(messages[message].at("tool_calls").at(call).at("id").as_string());
  };
  EXPECT_EQ(id(1, 0), "functions.f:0");
  EXPECT_EQ(id(1, 1), "functions.g:1");
  EXPECT_EQ(messages[2].at("tool_call_id"), "functions.g:1");
  EXPECT_EQ(messages[3].at("tool_call_id"), "functions.f:0");
  EXPECT_EQ(id(4, 0), "functions.f:2");
  EXPECT_EQ(id(4, 1), "functions.g:3");
  EXPECT_EQ(id(4, 3), "a");
  EXPECT_EQ(messages[5].at("tool_call_id"), "other");
}

}  // namespace
}  // namespace weft
