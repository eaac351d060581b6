// A program of its own, because it replaces operator new.

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <string>

#include "weft/tests/fixture/allocation_count.h"
#include "weft/text/chat/chat_template.h"
#include "weft/text/jinja/limits.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

constexpr std::size_t kText = std::size_t{64} << 10U;

/// The memory that a rendering may hold uncounted: messages, a handful of small strings.
constexpr std::size_t kUncounted = std::size_t{64} << 10U;

struct Rendered {
  std::string outcome;  ///< "ok", or the error
  bool limited;
  std::size_t most_held;
};

Rendered render(const ChatTemplate& chat, const boost::json::object& variables,
                std::size_t memory_bytes) {
  test::begin_most_held();
  const auto prompt =
      chat.render(variables, std::chrono::local_seconds{}, {.memory_bytes = memory_bytes});
  const std::size_t most = test::most_held();
  if (prompt) return {"ok", false, most};
  return {to_string(prompt.error()), prompt.error().code == TextErrc::kTemplateLimit, most};
}

Rendered render(const std::string& source, const boost::json::object& variables,
                std::size_t memory_bytes) {
  return render(ChatTemplate::parse(source, "model").value(), variables, memory_bytes);
}

TEST(JinjaMemoryTest, WhatDoublesHoldsNoMoreThanTheLimit) {
  const std::string doubling = "{% set ns = namespace(s='aaaaaaaa') %}{% for a in range(64) %}";
  for (const char* twice :
       {"{% set ns.s = ns.s + ns.s %}", "{% set ns.s = ns.s ~ ns.s %}",
        "{% set ns.s = ns.s|replace('a', 'aa') %}", "{% set ns.s = [ns.s, ns.s]|join(ns.s) %}",
        "{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}", "{% set ns.s = '%s%s' % (ns.s, ns.s) %}",
        "{% set ns.s = '{0}{0}'.format(ns.s) %}", "{% set ns.s = ns.s * 2 %}",
        "{% set ns.s = ns.s.center(2 * (ns.s|length)) %}", "{% set ns.s = [ns.s, ns.s]|string %}",
        "{% set ns.s = [ns.s, ns.s]|tojson %}", "{% set ns.s = ns.s|list + ns.s|list %}",
        "{% macro f() %}{{ ns.s }}{{ ns.s }}{% endmacro %}{% set ns.s = f() %}"}) {
    const Rendered result = render(doubling + twice + "{% endfor %}", {}, 2 * kMiB);
    EXPECT_TRUE(result.limited) << twice << result.outcome;
    EXPECT_LE(result.most_held, 2 * kMiB + kUncounted) << twice;
  }
  const TemplateLimits usual;
  EXPECT_EQ(usual.memory_bytes, 64 * kMiB);
  const Rendered result =
      render(doubling + "{% set ns.s = ns.s + ns.s %}{% endfor %}", {}, usual.memory_bytes);
  EXPECT_TRUE(result.limited) << result.outcome;
  EXPECT_LE(result.most_held, usual.memory_bytes + kUncounted);
}

/// Temporary memory of each filter counts, too, for any limit.
TEST(JinjaMemoryTest, NothingIsHeldThatIsNotCounted) {
  boost::json::object variables;
  std::string words;
  while (words.size() < kText) words += "a-b c.Stra\u00dfe \n";
  std::string digits = "1";
  while (digits.size() < kText) digits += "_1";
  variables["s"] = words;
  variables["space"] = std::string(kText, ' ');
  variables["digits"] = digits;
  boost::json::array list;
  boost::json::object dict;
  for (int at = 0; at < 3'000; ++at) {
    list.push_back(at % 100);
    dict["k" + std::to_string(at)] = at;
  }
  variables["l"] = list;
  variables["d"] = dict;
  for (const char* work : {"s|upper",
                           "s|lower",
                           "s|capitalize",
                           "s|title",
                           "s.title()",
                           "s.swapcase()",
                           "s|reverse",
                           "s|list",
                           "s.split()",
                           "s.split(' ')",
                           "s.rsplit(' ')",
                           "s.rsplit()",
                           "s.splitlines()",
                           "s.rpartition('ab')",
                           "s.rfind('ab')",
                           "space.strip(s)",
                           "s|replace('a', 'bb')",
                           "s|wordwrap",
                           "s|wordwrap(5)",
                           "s|indent",
                           "s|center(200000)",
                           "s|urlencode",
                           "s|escape",
                           "s|tojson",
                           "s|tojson(ensure_ascii=true)",
                           "[s]|string",
                           "digits|int",
                           "digits|float",
                           "'%s' % s",
                           "'{}'.format(s)",
                           "s ~ s",
                           "s[::2]",
                           "s[1:]",
                           "l|sort",
                           "l|unique|list",
                           "l|batch(1000)|list",
                           "l|slice(10)|list",
                           "l|map('string')|join",
                           "l|select|list",
                           "l|groupby('real')",
                           "l|reverse|list",
                           "l + l",
                           "l * 3",
                           "d|dictsort",
                           "dict(d)",
                           "namespace(**d)",
                           "d|tojson(sort_keys=true)",
                           "d|string",
                           "d|items|list",
                           "cycler(*l)",
                           "'%.90000f' % 1.5",
                           "strftime_now(s)",
                           "{}[s]",
                           "none[s]",
                           "s(1)",
                           "raise_exception(s)",
                           "undefined_name[s][s]",
                           "dict(**{s: 1, s ~ 'x': 2})|length",
                           "'{x}'.format(**{s: 1})"}) {
    const auto chat =
        ChatTemplate::parse("{% set x = " + std::string(work) + " %}{{ x }}", "model").value();
    for (const std::size_t limit : {kText / 4, kText, 3 * kText, 9 * kText, 27 * kText}) {
      const Rendered result = render(chat, variables, limit);
      EXPECT_LE(result.most_held, limit + kUncounted) << work << ": " << result.outcome;
    }
  }
}

TEST(JinjaMemoryTest, AShortPromptTakesKilobytes) {
  const std::string source =
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content|trim }}<|end|>\n{% endfor %}";
  const boost::json::object variables = {
      {"messages", {{{"role", "user"}, {"content", " What is Weft? "}}}}};
  const Rendered result = render(source, variables, TemplateLimits{}.memory_bytes);
  EXPECT_EQ(result.outcome, "ok");
  EXPECT_LE(result.most_held, 16U << 10U);
}

}  // namespace
}  // namespace weft
