#include "weft/text/chat/role_order.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace weft {
namespace {

RoleOrder order_of(std::string_view source) {
  const auto parsed = ChatTemplate::parse(source, "chat_template");
  EXPECT_TRUE(parsed);
  return role_order_of(*parsed, boost::json::object(), false);
}

std::string flags_of(const RoleOrder& order) {
  std::string flags;
  if (order.system) flags += "system ";
  if (order.systems) flags += "systems ";
  if (order.repeats) flags += "repeats ";
  if (order.after_result) flags += "after_result ";
  return flags;
}

constexpr std::string_view kAll = "system systems repeats after_result ";

TEST(RoleOrderTest, ATemplateThatWritesAllMessagesTakesAllOrders) {
  EXPECT_EQ(flags_of(order_of("{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}")),
            kAll);
}

TEST(RoleOrderTest, ATemplateMayWantTheSystemsWordsInFrontAndTurnsInTheirOrder) {
  // As Mistral's templates do.
  EXPECT_EQ(
      flags_of(order_of(
          "{% if messages[0].role == 'system' %}{{ messages[0].content }}"
          "{% set messages = messages[1:] %}{% endif %}{% set ns = namespace(index=0) %}"
          "{% for m in messages %}{% if m.role == 'user' or (m.role == 'assistant' and not "
          "m.tool_calls) %}{% if (m.role == 'user') != (ns.index % 2 == 0) %}"
          "{{ raise_exception('roles must alternate') }}{% endif %}{% set ns.index = ns.index + 1 "
          "%}{% elif m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
          "{{ m.content }}{% endfor %}")),
      "system ");
}

TEST(RoleOrderTest, ATemplateMayLeaveOutWhatItDoesNotKnow) {
  EXPECT_EQ(flags_of(order_of("{% if messages[0].role == 'system' %}{{ messages[0].content }}"
                              "{% endif %}{% for m in messages if m.role != 'system' %}"
                              "{{ m.content }}{% endfor %}")),
            "system repeats after_result ");
  EXPECT_EQ(flags_of(order_of("{% for m in messages if m.role != 'system' %}{{ m.content }}"
                              "{% endfor %}")),
            "repeats after_result ");
}

TEST(RoleOrderTest, OfATemplateThatTakesNoConversationNothingIsSaid) {
  EXPECT_EQ(flags_of(order_of("{{ raise_exception('no') }}")), kAll);
}

}  // namespace
}  // namespace weft
