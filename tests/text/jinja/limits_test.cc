#include "weft/text/jinja/limits.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "weft/text/chat/chat_template.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

constexpr std::chrono::local_seconds kLimitsNow{};

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t at = 0; at < count; ++at) out += text;
  return out;
}

Result<std::string> render(const std::string& source, const boost::json::object& variables = {},
                           const TemplateLimits& limits = {}) {
  auto chat = ChatTemplate::parse(source, "model");
  if (!chat) return chat.error();
  return chat->render(variables, kLimitsNow, limits);
}

/// The code of the error and its detail; "no error" when there is none.
struct RenderOutcome {
  boost::system::error_code code;
  std::string detail;
};

RenderOutcome rendered(const std::string& source, const boost::json::object& variables = {},
                       const TemplateLimits& limits = {}) {
  const auto text = render(source, variables, limits);
  if (text) return {{}, "no error"};
  return {text.error().code, text.error().detail};
}

void expect_limit(const std::string& source, std::string_view what,
                  const boost::json::object& variables = {}, const TemplateLimits& limits = {}) {
  const RenderOutcome result = rendered(source, variables, limits);
  EXPECT_EQ(result.code, TextErrc::kTemplateLimit) << source.substr(0, 100) << result.detail;
  EXPECT_NE(result.detail.find(what), std::string::npos) << result.detail;
}

TEST(JinjaLimitsTest, ParsesSixtyFourLevelsAndNoMore) {
  // The output's own expression is the first level.
  const auto parentheses = [](std::size_t depth) {
    return "{{ " + repeated("(", depth) + "1" + repeated(")", depth) + " }}";
  };
  EXPECT_EQ(*render(parentheses(jinja::kMaxNesting - 1)), "1");
  expect_limit(parentheses(jinja::kMaxNesting), "nested deeper than 64 levels");
  expect_limit(parentheses(5'000), "nested deeper than 64 levels");
}

TEST(JinjaLimitsTest, BoundsEveryWayToNest) {
  constexpr std::size_t kMany = 5'000;
  const std::string deep = "nested deeper than 64 levels";
  expect_limit(repeated("{% if 1 %}", kMany), deep);
  expect_limit(repeated("{% for a in b %}", kMany), deep);
  expect_limit(repeated("{% macro f() %}", kMany), deep);
  expect_limit(repeated("{% set a %}", kMany), deep);
  expect_limit(repeated("{% with %}", kMany), deep);
  expect_limit("{{ " + repeated("[", kMany), deep);
  expect_limit("{{ " + repeated("{1:", kMany), deep);
  expect_limit("{{ " + repeated("a(", kMany), deep);
  expect_limit("{{ " + repeated("a[", kMany), deep);
  expect_limit("{{ " + repeated("a|b(", kMany), deep);
  expect_limit("{{ " + repeated("not ", kMany) + "1 }}", deep);
  expect_limit("{{ " + repeated("- ", kMany) + "1 }}", deep);
  expect_limit("{{ " + repeated("1 if 1 else ", kMany) + "1 }}", deep);
  expect_limit("{{ 1" + repeated(" if 1", kMany) + " }}", "too many conditions");
  expect_limit("{% set " + repeated("(", kMany) + "a" + repeated(")", kMany) + " = 1 %}", deep);
  expect_limit("{{ 1 is eq " + repeated("[", kMany), deep);
}

TEST(JinjaLimitsTest, LetsLongChainsBe) {
  constexpr std::size_t kMany = 5'000;
  EXPECT_EQ(*render("{{ 1" + repeated(" + 1", kMany) + " }}"), "5001");
  EXPECT_EQ(*render("{{ 1" + repeated(" and 1", kMany) + " }}"), "1");
  EXPECT_EQ(*render("{{ 'a'" + repeated("|upper|lower", kMany) + " }}"), "a");
  EXPECT_EQ(*render("{{ 1" + repeated(" < 2 > 1", kMany) + " }}"), "True");
  EXPECT_EQ(*render("{% if 0 %}" + repeated("{% elif 0 %}", kMany) + "{% else %}x{% endif %}"),
            "x");
  EXPECT_EQ(render("{{ 1" + repeated(" ~ 1", kMany) + " }}")->size(), kMany + 1);
}

TEST(JinjaLimitsTest, BoundsCallsInsideEachOther) {
  expect_limit("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls nest deeper than 64");
  expect_limit(
      "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
      "calls nest deeper than 64");
  expect_limit(
      "{% set ns = namespace() %}{% set ns.x = [1] %}"
      "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "calls nest deeper than 64");
  expect_limit("{% macro f() %}{% call f() %}x{% endcall %}{{ caller() }}{% endmacro %}{{ f() }}",
               "calls nest deeper than 64");
  EXPECT_EQ(*render("{% macro f(n) %}{% if n > 1 %}{{ f(n - 1) }}{% else %}end{% endif %}"
                    "{% endmacro %}{{ f(64) }}"),
            "end");
}

/// The deepest the evaluation can get, on a thread with glibc's usual stack of 8 MiB.
TEST(JinjaLimitsTest, BoundsTheStackOfTheEvaluation) {
  // Three levels of the source's nesting each, and nine of the evaluation's.
  const std::string nested =
      repeated("[0 or 1 and not 0 < 1 + 0 ~ 1 * 2 ** (", 20) + "f()" + repeated(")]", 20);
  RenderOutcome result;
  std::thread([&] {
    result = rendered("{% macro f() %}{{ " + nested + " }}{% endmacro %}{{ f() }}");
  }).join();
  EXPECT_EQ(result.code, TextErrc::kTemplateLimit);
  EXPECT_NE(result.detail.find("evaluation nests deeper than 1000 levels"), std::string::npos)
      << result.detail;
}

TEST(JinjaLimitsTest, BoundsSteps) {
  const std::string steps = "more than 1000000 steps";
  expect_limit("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
               steps);
  expect_limit(
      "{% for a in range(100000) %}{% set x = a + a * a - a %}{% set y = a|string %}"
      "{% set z = a ~ a %}{% endfor %}{{ range(100000)|map('string')|join|length }}",
      steps);
  expect_limit("{% for a in range(100000) %}{{ '' if 99999 in range(100000)|list }}{% endfor %}",
               "more than");
}

/// Each template does much work with little source. A step may take about a microsecond, so work
/// that is done 100 times must count for more than 40 steps each time.
TEST(JinjaLimitsTest, CountsWorkOnLongStringsAsManySteps) {
  boost::json::object variables;
  variables["s"] = std::string(std::size_t{1} << 18, 'a');
  variables["space"] = std::string(std::size_t{1} << 18, ' ');
  variables["digits"] = "1" + repeated("_1", 1 << 17);
  for (const char* work : {"'ab' in s",
                           "s[-1]",
                           "s[250000]",
                           "s[250000:]",
                           "s|length",
                           "s|upper",
                           "s|title",
                           "s.upper()",
                           "s.title()",
                           "s.swapcase()",
                           "s.isalpha()",
                           "s.istitle()",
                           "s.islower()",
                           "s is lower",
                           "s.find('b')",
                           "s.rfind('ab')",
                           "s.count('b')",
                           "s.index('a', 1)",
                           "s.replace('b', 'c')",
                           "s.split('b')",
                           "s.rsplit('b')",
                           "s.split()",
                           "s.splitlines()",
                           "s.partition('b')",
                           "s.startswith(s)",
                           "s.endswith('a', 1, 9)",
                           "s.removeprefix(s)",
                           "space.strip()",
                           "space|trim",
                           "s.strip('a')",
                           "''.strip(s)",
                           "s == s ~ ''",
                           "s < s",
                           "s|wordcount",
                           "s|wordwrap",
                           "s|indent",
                           "s|truncate(300000)",
                           "s.center(1)",
                           "s|urlencode",
                           "s|escape",
                           "s|tojson",
                           "[s]|string",
                           "s|reverse",
                           "s|int",
                           "s|float",
                           "digits|float",
                           "[1]|map(attribute=s)|list",
                           "{}[s]",
                           "{s: 1}",
                           "{}.get(s)",
                           "s in {}",
                           "dict([[s, 1]])",
                           "[s, s]|unique|list",
                           "[s, s]|sort",
                           "[s]|min",
                           "s.format()",
                           "s % {}",
                           "s|format",
                           "strftime_now(s)"}) {
    const std::string source =
        "{% for i in range(100) %}{% set x = " + std::string(work) + " %}{% endfor %}";
    expect_limit(source, "", variables, {.steps = 4'000, .memory_bytes = std::size_t{8} << 20});
  }
}

TEST(JinjaLimitsTest, CountsWorkOnLongListsAsManySteps) {
  boost::json::object variables;
  variables["l"] = boost::json::array(5'000, "");
  boost::json::object dict;
  for (int key = 0; key < 1000; ++key) dict[std::string("k").append(std::to_string(key))] = key;
  variables["d"] = dict;
  for (const char* work : {"''.join(l)",
                           "l|join",
                           "9 in l",
                           "l == l + []",
                           "l|list",
                           "l|reverse|list",
                           "l[::2]",
                           "l|sort",
                           "l|unique|list",
                           "l|max",
                           "[1]|sum(start=1) in l",
                           "l.count(1)",
                           "l|batch(9)|list",
                           "l|map('upper')|list",
                           "l|select|list",
                           "l|groupby('x', 1)",
                           "cycler(*l)",
                           "d|dictsort",
                           "dict(d)",
                           "dict(**d)",
                           "namespace(**d)",
                           "d == dict(d)",
                           "'{k999}'.format(**d)",
                           "d|tojson",
                           "d|string",
                           "d|items|list",
                           "'%s' % d"}) {
    const std::string source =
        "{% for i in range(100) %}{% set x = " + std::string(work) + " %}{% endfor %}";
    expect_limit(source, "", variables, {.steps = 20'000, .memory_bytes = std::size_t{64} << 20});
  }
}

TEST(JinjaLimitsTest, CountsNamesThatAreLookedThrough) {
  constexpr int kNames = 2000;
  std::string sets;
  std::string parameters;
  std::string keywords;
  for (int name = 0; name < kNames; ++name) {
    const std::string number = std::to_string(name);
    sets += "{% set a" + number + " = 1 %}";
    parameters += (name == 0 ? "a" : ", a") + number;
    keywords += (name == 0 ? "a" : ", a") + number + "=1";
  }
  const TemplateLimits limits{.steps = 100'000};
  expect_limit(sets + "{% for i in range(2000) %}{{ missing }}{% endfor %}", "steps", {}, limits);
  expect_limit("{% macro f(" + parameters + ") %}{% endmacro %}{{ f(" + keywords + ") }}", "steps",
               {}, limits);
  expect_limit("{% macro f() %}{{ kwargs }}{% endmacro %}{% for i in range(10000) %}{{ f(" +
                   keywords + ") }}{% endfor %}",
               "steps", {}, limits);
  expect_limit("{{ '" + repeated("{b}", kNames) + "'.format(" + keywords + ", b=1) }}", "steps", {},
               limits);
  EXPECT_EQ(rendered("{{ " + repeated("a", jinja::kMaxNameBytes + 1) + " }}").code,
            TextErrc::kBadTemplate);
  EXPECT_EQ(rendered("{{ " + repeated("a", jinja::kMaxNameBytes) + " }}").detail, "no error");
}

/// Two tuples that are equal and nested: a comparison that asks twice at each level never ends.
TEST(JinjaLimitsTest, FindsKeysThatAreNestedTuples) {
  const std::string nest = "{% for i in range(80) %}{% set ns.x = (ns.x,) %}{% endfor %}";
  const std::string source = "{% set ns = namespace(x=1) %}" + nest +
                             "{% set a = ns.x %}{% set ns.x = 1 %}" + nest +
                             "{{ {a: 'found'}[ns.x] }}{{ [a, ns.x]|unique|list|length }}";
  EXPECT_EQ(*render(source), "found1");
}

TEST(JinjaLimitsTest, CutsTheMessageThatATemplateRaises) {
  const RenderOutcome result = rendered("{{ raise_exception('\u00e9' * 1000000) }}");
  EXPECT_EQ(result.code, TextErrc::kTemplateFailed);
  EXPECT_LT(result.detail.size(), jinja::kMaxMessageBytes + 20);
  EXPECT_TRUE(result.detail.ends_with("\u00e9..."));
}

TEST(JinjaLimitsTest, BoundsRanges) {
  const std::string range = "a range has more than 100000 elements";
  expect_limit("{{ range(10**9) }}", range);
  expect_limit("{{ range(-9223372036854775807, 9223372036854775807) }}", range);
  expect_limit("{{ range(100001) }}", range);
  EXPECT_EQ(*render("{{ range(100000)|length }} {{ range(0, 10**18, 10**17)|list|length }}"),
            "100000 10");
}

TEST(JinjaLimitsTest, BoundsTheOutput) {
  const TemplateLimits limits;
  EXPECT_EQ(render("{{ 'a' * " + std::to_string(limits.output_bytes) + " }}")->size(),
            limits.output_bytes);
  for (const std::string& source :
       {"{{ 'a' * " + std::to_string(limits.output_bytes + 1) + " }}",
        "{% for a in range(100000) %}" + std::string(100, 'x') + "{% endfor %}"}) {
    const RenderOutcome result = rendered(source);
    EXPECT_EQ(result.code, TextErrc::kTemplateOutput);
    EXPECT_NE(result.detail.find("more than 4194304 bytes of output"), std::string::npos);
  }
}

TEST(JinjaLimitsTest, BoundsMemory) {
  const std::string values = "bytes of values";
  expect_limit("{{ 'a' * 10**10 }}", values);
  expect_limit("{{ 'abc' * 9223372036854775807 }}", "memory");
  expect_limit("{{ [1] * 10**10 }}", "more than");
  // A value that doubles is doubled until the limit, wherever it is.
  const TemplateLimits small{.memory_bytes = std::size_t{1} << 20};
  const std::string doubling = "{% set ns = namespace(s='aaaaaaaa') %}{% for a in range(64) %}";
  for (const char* twice :
       {"{% set ns.s = ns.s + ns.s %}", "{% set ns.s = ns.s ~ ns.s %}",
        "{% set ns.s = ns.s|replace('a', 'aa') %}", "{% set ns.s = [ns.s, ns.s]|join(ns.s) %}",
        "{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}", "{% set ns.s = '%s%s' % (ns.s, ns.s) %}",
        "{% set ns.s = '{0}{0}'.format(ns.s) %}", "{% set ns.s = ns.s * 2 %}"}) {
    expect_limit(doubling + twice + "{% endfor %}", values, {}, small);
  }
  const std::string tree = doubling + "{% set ns.s = [ns.s, ns.s] %}{% endfor %}";
  expect_limit(tree + "{{ ns.s }}", values, {}, small);
  expect_limit(tree + "{{ ns.s|tojson }}", values, {}, small);
}

/// A tree of 2^64 elements that is held in 64 lists.
TEST(JinjaLimitsTest, BoundsWalksOverSharedLists) {
  const std::string tree =
      "{% set ns = namespace(a=1, b=1) %}{% for i in range(64) %}{% set ns.a = [ns.a, ns.a] %}"
      "{% set ns.b = [ns.b, ns.b] %}{% endfor %}";
  const TemplateLimits limits{.steps = 100'000};
  expect_limit(tree + "{{ ns.a == ns.b }}", "steps", {}, limits);
  expect_limit(tree + "{{ ns.a < ns.b }}", "steps", {}, limits);
  expect_limit(tree + "{{ ns.a in [ns.b] }}", "steps", {}, limits);
  expect_limit(tree + "{{ ns.a|string }}", "steps", {}, limits);
}

TEST(JinjaLimitsTest, BoundsPadding) {
  for (const char* padded :
       {"'a'.ljust(10**12)", "'a'.rjust(10**12)", "'a'.center(10**12)", "'7'.zfill(10**12)",
        "'a'|center(10**12)", "'%*d' % (10**12, 1)", "'%1000000000d' % 1", "'%.1000000000f' % 1.5",
        "'{:1000000000}'.format(1)", "'{:.1000000000f}'.format(1.5)", "'%99999999999d' % 1",
        "'a\nb'|indent(10**12)", "[1]|tojson(indent=10**12)", "[1]|batch(10**12, 0)|list",
        "[1]|slice(10**12)|list", "'{:{w}}'.format(1, w=10**9)",
        "'%*d' % (-9223372036854775807 - 1, 1)"}) {
    expect_limit("{{ " + std::string(padded) + " }}", "");
  }
}

TEST(JinjaLimitsTest, BoundsTheDepthOfData) {
  const std::string deep =
      "{% set ns = namespace(x=[]) %}{% for i in range(10000) %}{% set ns.x = [ns.x] %}{% endfor "
      "%}";
  expect_limit(deep + "{{ ns.x }}", "nested too deep to print");
  expect_limit(deep + "{{ ns.x|tojson }}", "nested too deep for JSON");
  expect_limit(deep + "{{ ns.x == ns.x }}", "nested too deep to compare");
  expect_limit(deep + "{{ [ns.x, ns.x]|sort }}", "nested too deep to compare");
  const std::string tuples =
      "{% set ns = namespace(x=()) %}{% for i in range(10000) %}{% set ns.x = (ns.x,) %}{% endfor "
      "%}";
  expect_limit(tuples + "{{ {ns.x: 1} }}", "nested too deep to compare");
  expect_limit(
      "{% set ns = namespace(x=[1]) %}{% for i in range(10000) %}"
      "{% set ns.x = ns.x|map('abs') %}{% endfor %}{{ ns.x|list }}",
      "too many generators");
  boost::json::value input = boost::json::array{};
  for (int level = 0; level < 200; ++level) {
    boost::json::array outer;
    outer.push_back(std::move(input));
    input = std::move(outer);
  }
  expect_limit("x", "nested too deep", {{"messages", input}});
}

TEST(JinjaLimitsTest, PrintsANamespaceThatHoldsItself) {
  expect_limit("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}", "");
  expect_limit(
      "{% set ns = namespace() %}{% set ns.self = [ns] %}{{ ns == ns }}{{ ns.self|string }}", "");
}

TEST(JinjaLimitsTest, BoundsTheSource) {
  EXPECT_TRUE(render(std::string(jinja::kMaxSourceBytes, 'a')));
  expect_limit(std::string(jinja::kMaxSourceBytes + 1, 'a'), "the source has more than");
}

TEST(JinjaLimitsTest, HasNothingThatReachesOutOfTheTemplate) {
  for (const char* tag : {"{% include 'a' %}", "{% import 'a' as b %}", "{% from 'a' import b %}",
                          "{% extends 'a' %}", "{% block a %}{% endblock %}", "{% do x %}",
                          "{% autoescape true %}", "{% debug %}"}) {
    EXPECT_EQ(rendered(tag).code, TextErrc::kBadTemplate) << tag;
  }
  for (const char* escape :
       {"{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ cycler.__init__.__globals__.os }}",
        "{{ self.__init__ }}", "{{ namespace.__init__.__globals__['__builtins__'] }}",
        "{{ ''['__class__']['__base__'] }}", "{{ '{0.__class__.__base__}'.format('') }}",
        "{{ (''|attr('__class__')).x }}", "{{ ['']|map(attribute='__class__.__base__')|list }}",
        "{{ lipsum() }}", "{{ messages.append(1) }}", "{{ {}.update({}) }}"}) {
    EXPECT_EQ(rendered(escape, {{"messages", boost::json::array{}}}).code,
              TextErrc::kTemplateFailed)
        << escape;
  }
}

TEST(JinjaLimitsTest, TakesTheLimitsThatItIsGiven) {
  const auto chat = ChatTemplate::parse("{% for a in range(50) %}abcdefgh{% endfor %}", "model");
  EXPECT_TRUE(chat->render(boost::json::object{}, kLimitsNow, {.output_bytes = 400}));
  EXPECT_FALSE(chat->render(boost::json::object{}, kLimitsNow, {.output_bytes = 399}));
  EXPECT_FALSE(chat->render(boost::json::object{}, kLimitsNow, {.steps = 100}));
  EXPECT_FALSE(chat->render(boost::json::object{}, kLimitsNow, {.memory_bytes = 100}));
}

TEST(JinjaLimitsTest, FailsCleanlyAtEveryStep) {
  const std::string source =
      "{% macro f(a, b=2) %}{{ a ~ b }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}"
      "{% set ns = namespace(x=1) %}{% set t %}{{ f(1) }}{% endset %}"
      "{% for k, v in {'b': [3, 1], 'a': 'xyz'}|dictsort if v %}{% set ns.x = ns.x + loop.length %}"
      "{% call f(k) %}{{ v|sort|join('-')|upper|indent }}{% endcall %}{% endfor %}"
      "{{ {'a': [1, 2.5, none]}|tojson(indent=1) }}{{ 'a b c'.split()[1:]|map('title')|list }}"
      "{{ '%5.1f|{}' % 2.25 }}{{ t|replace('1', 'one')|wordwrap(2) }}{{ range(5)|batch(2)|list }}"
      "{{ [{'n': 'b'}, {'n': 'A'}]|groupby('n') }}{{ ns.x }}{{ 'x' in t and t is string }}";
  const auto chat = ChatTemplate::parse(source, "model");
  const auto whole = chat->render(boost::json::object{}, kLimitsNow);
  ASSERT_TRUE(whole) << to_string(whole.error());
  bool done = false;
  for (std::size_t steps = 0; !done; ++steps) {
    ASSERT_LT(steps, 10'000U);
    const auto text = chat->render(boost::json::object{}, kLimitsNow, {.steps = steps});
    done = text.has_value();
    EXPECT_EQ(done ? boost::system::error_code() : text.error().code,
              done ? boost::system::error_code() : TextErrc::kTemplateLimit)
        << steps;
    EXPECT_EQ(done ? *text : *whole, *whole);
  }
  done = false;
  for (std::size_t bytes = 0; !done; bytes += 7) {
    ASSERT_LT(bytes, 1'000'000U);
    const auto text = chat->render(boost::json::object{}, kLimitsNow, {.memory_bytes = bytes});
    done = text.has_value();
    EXPECT_EQ(done ? boost::system::error_code() : text.error().code,
              done ? boost::system::error_code() : TextErrc::kTemplateLimit)
        << bytes;
    EXPECT_EQ(done ? *text : *whole, *whole);
  }
}

}  // namespace
}  // namespace weft
