#include "weft/measure/server/server_question.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

json::value asked(QuestionOptions options, const Arrival& arrival,
                  std::string_view stream_id = {}) {
  return json::parse(QuestionWriter(std::move(options)).next(arrival, stream_id));
}

TEST(ServerQuestion, DrawsExactlySoManyTokenIdsOfTheRange) {
  const auto body = asked({.model = "m", .lowest_id = 5, .highest_id = 9}, {0, 1000, 7});
  EXPECT_EQ(body.at("model"), "m");
  EXPECT_EQ(body.at("max_tokens"), 7);
  EXPECT_EQ(body.at("ignore_eos"), true);
  EXPECT_EQ(body.at("stream"), true);
  EXPECT_EQ(body.at("stream_options").at("include_usage"), true);
  const auto& ids = body.at("prompt").as_array();
  ASSERT_EQ(ids.size(), 1000U);
  std::int64_t low = 100;
  std::int64_t high = 0;
  for (const json::value& id : ids) {
    low = std::min(low, id.as_int64());
    high = std::max(high, id.as_int64());
  }
  EXPECT_EQ(low, 5);
  EXPECT_EQ(high, 9);
}

TEST(ServerQuestion, AsksTheSameWithTheSameSeedAndAnotherPromptEachTime) {
  QuestionWriter one({.seed = 1});
  QuestionWriter same({.seed = 1});
  QuestionWriter other({.seed = 2});
  const std::string first = one.next({0, 16, 1});
  EXPECT_EQ(same.next({0, 16, 1}), first);
  EXPECT_NE(one.next({0, 16, 1}), first);
  EXPECT_NE(other.next({0, 16, 1}), first);
}

TEST(ServerQuestion, LeavesOutWhatItIsToldToAndAddsWhatItIsGiven) {
  const auto body =
      asked({.ignore_eos = false, .extra = {{"temperature", 0.5}, {"top_k", 3}}}, {0, 1, 1});
  EXPECT_FALSE(body.as_object().contains("ignore_eos"));
  EXPECT_FALSE(body.as_object().contains("model"));
  EXPECT_EQ(body.at("temperature"), 0.5);
  EXPECT_EQ(body.at("top_k"), 3);
}

TEST(ServerQuestion, NamesTheClassOfABatch) {
  const auto body = asked({}, {0, 1, 1, RequestClass::kBatch});
  EXPECT_EQ(body.at("service_tier"), "flex");
}

TEST(ServerQuestion, WrapsTextsAsEachApiWantsThem) {
  const auto prompts = parse_prompts("one \"two\"\n", "f").value();
  EXPECT_EQ(asked({.prompts = prompts}, {0, 1, 1}).at("prompt"), "one \"two\"");
  const auto chat = asked({.api = ServerApi::kChat, .prompts = prompts}, {0, 1, 1});
  EXPECT_EQ(chat.at("messages").at(0).at("role"), "user");
  EXPECT_EQ(chat.at("messages").at(0).at("content"), "one \"two\"");
  const auto response = asked({.api = ServerApi::kResponses, .prompts = prompts}, {0, 1, 5}, "3");
  EXPECT_EQ(response.at("type"), "response.create");
  EXPECT_EQ(response.at("stream_id"), "3");
  EXPECT_EQ(response.at("input"), "one \"two\"");
  EXPECT_EQ(response.at("max_output_tokens"), 5);
  EXPECT_EQ(response.at("store"), false);
  EXPECT_FALSE(response.as_object().contains("stream"));
}

TEST(ServerQuestion, TakesPromptsInTurn) {
  QuestionWriter writer({.prompts = parse_prompts("a\r\n\nb\n", "f").value()});
  for (const auto* text : {"a", "b", "a"}) {
    EXPECT_EQ(json::parse(writer.next({0, 1, 1})).at("prompt"), text);
  }
}

TEST(ServerQuestion, ReadsConversationsAndIdsFromJsonLines) {
  const auto prompts =
      parse_prompts("{\"messages\":[{\"role\":\"system\",\"content\":\"s\"}]}\n{\"prompt\":[1,2]}",
                    "f")
          .value();
  ASSERT_EQ(prompts.size(), 2U);
  EXPECT_TRUE(prompts[0].messages);
  EXPECT_EQ(prompts[1].json, "[1,2]");
  const auto chat = asked({.api = ServerApi::kChat, .prompts = {prompts[0]}}, {0, 1, 1});
  EXPECT_EQ(chat.at("messages").at(0).at("role"), "system");
}

TEST(ServerQuestion, LooksForJsonBehindAByteOrderMarkAndBlanks) {
  const auto ids = parse_prompts("\xEF\xBB\xBF\n \t{\"prompt\":[1,2]}\n", "f").value();
  ASSERT_EQ(ids.size(), 1U);
  EXPECT_EQ(ids[0].json, "[1,2]");
  const auto text = parse_prompts("\xEF\xBB\xBFone\n", "f").value();
  ASSERT_EQ(text.size(), 1U);
  EXPECT_EQ(text[0].json, R"("one")");
}

TEST(ServerQuestion, SaysWhichLineOfTheFileIsWrong) {
  for (const auto& [text, words] : {std::pair("", "no prompt in it"),
                                    {"\n \n", "no prompt in it"},
                                    {"{\"prompt\":\"a\"}\n\n{oops", "f: line 3: no JSON"},
                                    {"{\"prompt\":\"a\"}\n[]", "f: line 2: no JSON object"},
                                    {"{\"prompt\":7}", "is no text and no list"},
                                    {"{\"messages\":\"x\"}", "\"messages\" is no list"},
                                    {"{\"text\":\"x\"}", "neither \"prompt\" nor \"messages\""}}) {
    const auto prompts = parse_prompts(text, "f");
    ASSERT_FALSE(prompts) << text;
    EXPECT_EQ(prompts.error().code, make_error_code(MeasureErrc::kBadLoad));
    EXPECT_THAT(prompts.error().detail, HasSubstr(words));
  }
}

TEST(ServerQuestion, SaysWhichPromptIsNotForTheApi) {
  const auto messages = parse_prompts(R"({"messages":[]})", "f").value();
  const auto ids = parse_prompts(R"({"prompt":[1]})", "f").value();
  EXPECT_TRUE(check_prompts({.prompts = ids}));
  EXPECT_THAT(check_prompts({.prompts = messages}).error().detail, HasSubstr("wants a prompt"));
  EXPECT_TRUE(check_prompts({.api = ServerApi::kChat, .prompts = messages}));
  EXPECT_THAT(check_prompts({.api = ServerApi::kChat, .prompts = ids}).error().detail,
              HasSubstr("prompt 1 has token ids"));
}

}  // namespace
}  // namespace weft::measure
