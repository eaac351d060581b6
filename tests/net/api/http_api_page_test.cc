#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/chat/chat_request.h"
#include "weft/net/api/completions/completion_request.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/sampling_fields.h"
#include "weft/net/api/messages/message_request.h"
#include "weft/net/api/ollama/ollama_request.h"
#include "weft/net/api/responses/response_request.h"
#include "weft/tests/fixture/doc_page.h"
#include "weft/tests/net/api/api_fixture.h"
#include "weft/text/chat/template_variables.h"

namespace weft::test {
namespace {

namespace json = boost::json;

/// Returns the rows "| `name` | default | range | meaning |" under a heading, by their names.
std::map<std::string, std::vector<std::string>> table(const std::string& heading) {
  std::map<std::string, std::vector<std::string>> rows;
  for (DocRow& row : doc_rows(doc_page("http-api.md"))) {
    if (!row.heading.ends_with("# " + heading)) continue;
    std::ranges::transform(row.cells, row.cells.begin(), plain_cell);
    const std::string name = row.cells.front();
    EXPECT_TRUE(rows.emplace(name, std::move(row.cells)).second) << name << " is listed twice";
  }
  return rows;
}

TEST(HttpApiPageTest, ExplainsEverySamplingFieldAndNoOther) {
  const auto rows = table("Sampling");
  json::object defaults;
  echo_sampling(SamplingParams(), defaults);
  for (const std::string_view name : sampling_field_names()) {
    const auto row = rows.find(std::string(name));
    ASSERT_NE(row, rows.end()) << "no line on " << name;
    ASSERT_EQ(row->second.size(), 4U) << name;
    EXPECT_GT(row->second.at(3).size(), 15U) << name;
    if (!defaults.contains(name)) continue;
    boost::system::error_code no_json;
    const json::value standard = json::parse(row->second.at(1), no_json);
    EXPECT_EQ(standard, defaults.at(name)) << name << ": " << row->second.at(1);
  }
  EXPECT_EQ(rows.size(), sampling_field_names().size());
}

TEST(HttpApiPageTest, ListsTheFieldsThatChangeNothingAndNoOthers) {
  const auto rows = table("Fields that change nothing");
  for (const HarmlessField& field : harmless_fields()) {
    const std::string path = std::string(path_of(field.place)) + std::string(field.name);
    const auto row = rows.find(path);
    const std::string line = "| `" + path + "` | " + std::string(words_of(field.values)) + " | " +
                             std::string(field.sender) + " |";
    ASSERT_NE(row, rows.end()) << line;
    EXPECT_EQ(row->second.at(1), words_of(field.values)) << line;
    EXPECT_EQ(row->second.at(2), field.sender) << line;
  }
  EXPECT_EQ(rows.size(), harmless_fields().size());
}

TEST(HttpApiPageTest, ListsTheCodesOfErrors) {
  const auto rows = table("Errors");
  for (const std::string_view code :
       {api_code::kInvalidJson, api_code::kInvalidType, api_code::kInvalidValue, api_code::kMissing,
        api_code::kUnknown, api_code::kDuplicate, api_code::kUnsupported, api_code::kModelNotFound,
        api_code::kPreviousNotFound, api_code::kContextLength, api_code::kNoThreads}) {
    EXPECT_TRUE(rows.contains(std::string(code))) << code;
  }
}

TEST(HttpApiPageTest, NamesTheVariablesOfChatTemplatesThatAreTheServers) {
  const std::string page = doc_page("http-api.md");
  const std::size_t row = page.find("| `chat_template_kwargs` |");
  const std::string_view said = std::string_view(page).substr(row, page.find('\n', row) - row);
  for (const std::string_view name : kServerTemplateVariables) {
    EXPECT_THAT(said, testing::HasSubstr("`" + std::string(name) + "`"));
  }
}

/// The names in the first column of a table are known to its decoder: with a value of a type that
/// none of them has, they are not refused as unknown.
class HttpApiPageFieldsTest : public ApiFixture {
 public:
  template <class Read>
  void expect_known(const std::string& heading, const std::string& rest, const Read& read) {
    const auto rows = table(heading);
    EXPECT_GE(rows.size(), 5U) << heading;
    const auto said_of = [&](const std::string& name) {
      const std::string field = "\"" + name + "\":";
      const std::string needed = rest.find(field) == std::string::npos ? "," + rest : "";
      return verdict(read(body("{" + field + "{\"?\":[0]}" + needed + "}")));
    };
    const std::string unknown = " unknown_parameter";
    for (const auto& [names, row] : rows) {
      for (const std::string& name : split(names, ',')) {
        EXPECT_NE(said_of(plain_cell(name)), plain_cell(name) + unknown) << heading;
      }
    }
    EXPECT_EQ(said_of("no_such_field"), "no_such_field" + unknown);
  }
};

TEST_F(HttpApiPageFieldsTest, ListsFieldsThatExist) {
  const auto chat = [this](simdjson::dom::object o) { return read_chat(o, context); };
  const auto completion = [this](simdjson::dom::object o) { return read_completion(o, context); };
  const auto response = [this](simdjson::dom::object o) {
    return read_response(o, context, nullptr, true);
  };
  const std::string messages = R"("messages":[{"role":"user","content":"a"}])";
  expect_known("Chat completions", messages, chat);
  expect_known("Text completions", R"("prompt":"a")", completion);
  expect_known("Responses", R"("input":"a")", response);
  const auto message = [this](simdjson::dom::object o) { return read_messages(o, context); };
  const std::string bounded = messages + R"(,"max_tokens":5)";
  expect_known("Messages", bounded, message);
  expect_known("Sampling", bounded, message);
  for (const char* heading : {"Fields of all three", "Sampling"}) {
    expect_known(heading, messages, chat);
    expect_known(heading, R"("prompt":"a")", completion);
    expect_known(heading, R"("input":"a")", response);
  }
}

/// Checks fields of both endpoints of Ollama's API, and of its options.
TEST_F(HttpApiPageFieldsTest, ListsFieldsOfOllamasApiThatExist) {
  const auto is_known = [this](const std::string& text, const std::string& path) {
    const std::string unknown = path + " unknown_parameter";
    return verdict(read_ollama_chat(body(text), context)) != unknown ||
           verdict(read_ollama_generate(body(text), context)) != unknown;
  };
  const auto field = [&](const std::string& name) {
    return is_known("{\"" + name + "\":{\"?\":[0]}}", name);
  };
  const auto option = [&](const std::string& name) {
    return is_known("{\"options\":{\"" + name + "\":{\"?\":[0]}}}", "options." + name);
  };
  const auto rows = table("Ollama's API");
  EXPECT_GE(rows.size(), 15U);
  for (const auto& [names, row] : rows) {
    for (const std::string& name : split(names, ',')) {
      EXPECT_TRUE(field(plain_cell(name)) || option(plain_cell(name))) << name;
    }
  }
  for (const auto& [name, row] : table("Sampling")) {
    const bool renamed =
        name == "repetition_penalty" || name == "repetition_window" || name == "mirostat_mode";
    EXPECT_NE(option(name), renamed) << name;
  }
  EXPECT_FALSE(field("no_such_field") || option("no_such_field"));
}

}  // namespace
}  // namespace weft::test
