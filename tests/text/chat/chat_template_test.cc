#include "weft/text/chat/chat_template.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "weft/tests/fixture/source_path.h"
#include "weft/text/chat/template_variables.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;

const std::string data = test::source_path("tests/text/data/templates/");
/// The templates that models are published with; not part of the tree.
const std::string public_data = test::source_path("../shared/data/templates/");
/// 2026-07-04 05:06:07, as in make_expected.py.
constexpr std::chrono::local_seconds kNow{std::chrono::seconds(1'783'141'567)};

std::string read_file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::istringstream text(read_file_text(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::map<std::string, std::string> public_templates() {
  std::map<std::string, std::string> sources;
  for (const auto& entry : std::filesystem::directory_iterator(public_data)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".jinja")) sources[name] = read_file_text(entry.path());
    if (name.starts_with("mistralrs_")) {
      sources[name] = json::value_to<std::string>(
          json::parse(read_file_text(entry.path())).at("chat_template"));
    }
  }
  const auto lines = lines_of(std::filesystem::path(public_data) / "ollama_templates.jsonl");
  for (std::size_t number = 0; number < lines.size(); ++number) {
    const json::value row = json::parse(lines[number]);
    for (const auto& entry : row.as_object()) {
      sources["ollama_templates.jsonl:" + std::to_string(number) + ":" + std::string(entry.key())] =
          json::value_to<std::string>(entry.value());
    }
  }
  return sources;
}

/// Length and FNV-1a of a text, as make_expected.py writes them.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  std::ostringstream out;
  out << text.size() << ' ' << std::hex;
  out.width(16);
  out.fill('0');
  out << hash;
  return out.str();
}

ChatTemplate parsed(std::string_view source) {
  auto made = ChatTemplate::parse(source, "model");
  EXPECT_TRUE(made) << to_string(made.error());
  return *made;
}

json::array user_says(std::string_view text) {
  return {json::object{{"role", "user"}, {"content", text}}};
}

/// Expects the same prompt when the renderer knows which variables are a client's.
void expect_same_text(const ChatTemplate& chat, const json::object& variables,
                      const std::string& text) {
  ChatTemplateInput input;
  for (const auto& entry : variables) {
    const json::value& value = entry.value();
    if (entry.key() == "messages") {
      input.messages = value.as_array();
    } else if (entry.key() == "tools") {
      input.tools = value;
    } else if (entry.key() == "add_generation_prompt") {
      input.add_generation_prompt = value.as_bool();
    } else if (entry.key().ends_with("_token")) {
      input.special_tokens[entry.key()] = value;
    } else {
      input.kwargs[entry.key()] = value;
    }
  }
  const auto prompt = chat.render_prompt(input, kNow);
  ASSERT_TRUE(prompt) << to_string(prompt.error());
  EXPECT_EQ(prompt->text, text);
  std::size_t done = 0;
  for (const jinja::ByteRange& range : prompt->client) {
    EXPECT_TRUE(range.begin >= done && range.begin < range.end && range.end <= text.size());
    done = range.end;
  }
}

TEST(ChatTemplateTest, RendersPublicTemplatesByteForByteAsPythonDoes) {
  if (!std::filesystem::exists(public_data)) GTEST_SKIP() << public_data << " is not there";
  const auto sources = public_templates();
  const json::object conversations =
      json::parse(read_file_text(data + "conversations.json")).as_object();
  const auto rows = lines_of(data + "expected.jsonl");
  EXPECT_EQ(rows.size(), sources.size());
  std::size_t compared = 0;
  for (const std::string& line : rows) {
    const json::value row = json::parse(line);
    const auto name = json::value_to<std::string>(row.at("template"));
    ASSERT_TRUE(sources.contains(name)) << name;
    const ChatTemplate chat = parsed(sources.at(name));
    for (const auto& entry : row.at("expected").as_object()) {
      const auto text = chat.render(conversations.at(entry.key()).as_object(), kNow);
      const std::string expected = json::value_to<std::string>(entry.value());
      EXPECT_EQ(text ? digest(*text) : "render", expected)
          << name << " with " << entry.key() << "\n"
          << (text ? *text : to_string(text.error()));
      if (text) expect_same_text(chat, conversations.at(entry.key()).as_object(), *text);
      ++compared;
    }
  }
  EXPECT_GT(compared, 5000U);
}

TEST(ChatTemplateTest, GivesATemplateTheFieldsOfTheInput) {
  const ChatTemplate chat = parsed(
      "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
      "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ enable_thinking }}");
  ChatTemplateInput input;
  input.messages = user_says("Hi");
  input.special_tokens = {{"bos_token", "<s>"}};
  input.kwargs = {{"enable_thinking", false}};
  const auto text = chat.render(input, kNow);
  ASSERT_TRUE(text) << to_string(text.error());
  EXPECT_EQ(*text, "<s>[user]HiTrueTrueFalseFalse");
}

TEST(ChatTemplateTest, KeepsTheOrderOfAClientsKeys) {
  const ChatTemplate chat = parsed("{{ tools | tojson }}");
  ChatTemplateInput input;
  input.tools = json::parse(R"([{"z": 1, "a": {"y": 2, "b": 3}}])");
  EXPECT_EQ(*chat.render(input, kNow), R"([{"z": 1, "a": {"y": 2, "b": 3}}])");
}

TEST(ChatTemplateTest, RefusesKwargsThatAreNotAllowed) {
  const ChatTemplate chat = parsed("x");
  ChatTemplateInput input;
  input.kwargs = {{"tokenize", true}};
  const auto text = chat.render(input, kNow);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, TextErrc::kBadTemplateKwarg);
  EXPECT_EQ(text.error().detail, "chat_template_kwargs: 'tokenize' is not allowed");
}

TEST(ChatTemplateTest, ARequestSetsEveryVariableThatTheTemplateReadsButTheServers) {
  for (const std::string_view name : {"enable_thinking", "documents", "tools_in_user_message"}) {
    ChatTemplateInput input;
    input.kwargs = {{name, "mine"}, {"never_read", {1, 2}}};
    const auto text = parsed("{{ " + std::string(name) + " }}").render(input, kNow);
    ASSERT_TRUE(text) << name;
    EXPECT_EQ(*text, "mine") << name;
  }
  for (const std::string_view name : kServerTemplateVariables) {
    ChatTemplateInput input;
    input.kwargs = {{name, "mine"}};
    const auto text = parsed("x").render(input, kNow);
    ASSERT_FALSE(text) << name;
    EXPECT_EQ(text.error().code, TextErrc::kBadTemplateKwarg) << name;
  }
}

TEST(ChatTemplateTest, ARequestReplacesNoFunction) {
  for (const std::string_view name : {"range", "namespace", "raise_exception", "__class__"}) {
    ChatTemplateInput input;
    input.kwargs = {{name, "mine"}};
    const auto text = parsed("x").render(input, kNow);
    ASSERT_FALSE(text) << name;
    EXPECT_EQ(text.error().code, TextErrc::kBadTemplateKwarg) << name;
  }
}

TEST(ChatTemplateTest, KnowsWhichBytesOfAPromptAClientWrote) {
  ChatTemplateInput input;
  input.messages = user_says("says");
  input.special_tokens = {{"bos_token", "begin"}};
  input.kwargs = {{"name", "me"}};
  const auto prompt =
      parsed("{{ bos_token }} {{ messages[0].content ~ name }} {{ messages[0].role | upper }}.")
          .render_prompt(input, kNow);
  ASSERT_TRUE(prompt) << to_string(prompt.error());
  EXPECT_EQ(prompt->text, "begin saysme USER.");
  EXPECT_EQ(prompt->client, (std::vector<jinja::ByteRange>{{6, 12}, {13, 17}}));
}

TEST(ChatTemplateTest, PassesOnWhatATemplateRaises) {
  const ChatTemplate chat = parsed("line one\n\n{{ raise_exception('roles must alternate') }}");
  const auto text = chat.render(ChatTemplateInput{}, kNow);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, TextErrc::kTemplateFailed);
  EXPECT_EQ(text.error().detail, "model:3: roles must alternate");
}

TEST(ChatTemplateTest, SaysInWhichLineOfAMacroItFailed) {
  const ChatTemplate chat = parsed(
      "{% macro f(m) %}\n{% if m %}\n{{ m.x.y }}\n{% endif %}\n{% endmacro %}\n\n{{ f(1) }}");
  const auto text = chat.render(ChatTemplateInput{}, kNow);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().detail, "model:3: 'int' has no attribute 'x'");
}

TEST(ChatTemplateTest, SaysWhereItCannotBeParsed) {
  const auto made = ChatTemplate::parse("{{ a }}\n  é{% if %}", "model");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, TextErrc::kBadTemplate);
  EXPECT_EQ(made.error().detail, "model:2:10: expected an expression");
}

TEST(ChatTemplateTest, RefusesSourceThatIsNotUtf8) {
  const auto made = ChatTemplate::parse("\xff{{ a }}", "model");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, TextErrc::kBadTemplate);
}

TEST(ChatTemplateTest, RefusesStringsThatAreNotUtf8) {
  const ChatTemplate chat = parsed("{{ messages[0].content }}");
  ChatTemplateInput input;
  input.messages = user_says("a\xc3");
  const auto text = chat.render(input, kNow);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, TextErrc::kTemplateFailed);
}

TEST(ChatTemplateTest, ShowsTheTimeThatItIsGiven) {
  const ChatTemplate chat = parsed("{{ strftime_now('%d %B %Y') }}");
  EXPECT_EQ(*chat.render(ChatTemplateInput{}, kNow), "04 July 2026");
  EXPECT_EQ(*chat.render(ChatTemplateInput{}, std::chrono::local_seconds{}), "01 January 1970");
}

TEST(ChatTemplateTest, RendersInManyThreadsAtOnce) {
  const ChatTemplate chat = parsed(
      "{% macro f(x) %}<{{ x }}>{% endmacro %}{% set ns = namespace(n=0) %}"
      "{% for m in messages %}{% set ns.n = ns.n + loop.index %}{{ f(m.content) }}{% endfor %}"
      "{{ ns.n }}");
  std::vector<std::string> texts(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t at = 0; at < texts.size(); ++at) {
      threads.emplace_back([&chat, &text = texts[at], at] {
        ChatTemplateInput input;
        for (std::size_t turn = 0; turn < 100; ++turn) {
          input.messages.push_back(json::object{{"content", at}});
        }
        text = *chat.render(input, kNow);
      });
    }
  }
  for (std::size_t at = 0; at < texts.size(); ++at) {
    std::string expected;
    for (int turn = 0; turn < 100; ++turn)
      expected.append("<").append(std::to_string(at)).append(">");
    EXPECT_EQ(texts[at], expected + "5050");
  }
}

}  // namespace
}  // namespace weft
