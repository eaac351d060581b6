#include "weft/net/api/text_api.h"

#include <gtest/gtest.h>

#include <boost/system/error_code.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class TextApiTest : public ApiFixture {
 public:
  std::string tokens(const std::string& text) {
    const auto answer = tokenize(body(text), card);
    return answer ? *answer : verdict(answer);
  }
  std::string texts(const std::string& text) {
    const auto answer = detokenize(body(text), card);
    return answer ? *answer : verdict(answer);
  }
  /// Returns the text that a conversation is rendered to, by way of its tokens.
  std::string rendered(const std::string& fields) {
    const auto answer =
        tokenize(body(R"({"messages":[{"role":"user","content":"hi"}])" + fields + "}"), card);
    if (!answer) return verdict(answer);
    std::vector<TokenId> ids;
    const json::value parsed = json::parse(*answer);
    for (const json::value& id : parsed.at("tokens").as_array()) {
      ids.push_back(static_cast<TokenId>(id.as_int64()));
    }
    return model->tokenizer.decode(ids, false).value();
  }
};

TEST_F(TextApiTest, ATextBecomesTokensWithThoseThatBeginIt) {
  EXPECT_EQ(tokens(R"({"prompt":"aab"})"),
            R"({"count":3,"max_model_len":64,"tokens":[1,286,287],"token_strs":null})");
  EXPECT_EQ(tokens(R"({"prompt":"aab","add_special_tokens":false,"return_token_strs":true})"),
            R"({"count":2,"max_model_len":64,"tokens":[286,287],"token_strs":["▁a","ab"]})");
  EXPECT_EQ(tokens(R"({"prompt":"","add_special_tokens":false,"model":"tiny"})"),
            R"({"count":0,"max_model_len":64,"tokens":[],"token_strs":null})");
}

TEST_F(TextApiTest, SpecialTokensInATextAreText) {
  EXPECT_THAT(tokens(R"({"prompt":"</s>","add_special_tokens":false})"),
              testing::Not(testing::HasSubstr("[2]")));
}

TEST_F(TextApiTest, AConversationIsRenderedByTheTemplate) {
  EXPECT_THAT(rendered(""), testing::EndsWith("user:hi;go"));
  EXPECT_THAT(rendered(R"(,"add_generation_prompt":false)"), testing::EndsWith("user:hi;"));
  EXPECT_EQ(rendered(R"(,"chat_template_kwargs":{"messages":[]})"),
            "chat_template_kwargs.messages unsupported");
  EXPECT_EQ(rendered(R"(,"chat_template_kwargs":{"range":1})"),
            "chat_template_kwargs invalid_value");
  EXPECT_EQ(rendered(R"(,"prompt":"x")"), "prompt unknown_parameter");
  EXPECT_EQ(rendered(R"(,"add_special_tokens":true)"), "add_special_tokens unsupported");
}

TEST_F(TextApiTest, ThePromptOfAChatIsShown) {
  const auto prompt = [this](const std::string& fields) {
    const auto answer = render_chat(
        body(R"({"messages":[{"role":"user","content":"ab"}])" + fields + "}"), context);
    return answer ? *answer : verdict(answer);
  };
  EXPECT_EQ(prompt(R"(,"max_tokens":5)"),
            R"({"count":11,"max_model_len":64,"prompt":"<s> user:ab;go",)"
            R"("tokens":[1,259,280,278,264,277,61,287,62,266,274]})");
  EXPECT_EQ(prompt(R"(,"temperature":-1)"), "temperature invalid_value")
      << "what would be refused there is here";
  EXPECT_EQ(prompt(R"(,"chat_template_kwargs":{"range":1})"), "chat_template_kwargs invalid_value");
}

TEST_F(TextApiTest, AModelWithoutAUsableTemplateCannotChatAndSaysSo) {
  for (const char* source : {"", "{% if %}"}) {
    model->chat = ChatEncoder(model->tokenizer, source);
    EXPECT_EQ(rendered(""), "- unsupported") << source;
    EXPECT_THAT(tokens(R"({"prompt":"a"})"), testing::HasSubstr("\"count\""));
  }
}

TEST_F(TextApiTest, ATemplatesOwnRefusalIsTheMessagesFault) {
  model->chat = ChatEncoder(model->tokenizer, "{{ raise_exception('no') }}");
  EXPECT_EQ(rendered(""), "messages invalid_value");
}

TEST_F(TextApiTest, WhatCannotBeTokenizedIsRefused) {
  EXPECT_EQ(tokens("{}"), "prompt missing_required_parameter");
  EXPECT_EQ(tokens(R"({"prompt":5})"), "prompt invalid_type");
  EXPECT_EQ(tokens(R"({"prompt":"a","x":1})"), "x unknown_parameter");
  EXPECT_EQ(tokens(R"({"prompt":"a","model":"other"})"), "404 model model_not_found");
  EXPECT_EQ(tokens(R"({"messages":[]})"), "messages invalid_value");
}

TEST_F(TextApiTest, TheTokensOfAConversationMayEndWithItsLastMessage) {
  const std::string messages =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"ab"}])";
  const json::value ids =
      json::parse(tokens(messages + R"(,"continue_final_message":true})")).at("tokens");
  EXPECT_EQ(ids.as_array().back(), 287) << "ab";
  EXPECT_NE(json::parse(tokens(messages + "}")).at("tokens").as_array().back(), 287);
}

TEST_F(TextApiTest, WithoutATokenizerThereIsNoText) {
  model->tokenizer = Tokenizer::none();
  model->chat = ChatEncoder(model->tokenizer);
  EXPECT_EQ(tokens(R"({"prompt":"a"})"), "- invalid_value");
  EXPECT_EQ(texts(R"({"tokens":[5]})"), "tokens invalid_value");
}

TEST_F(TextApiTest, TokenizesAsLlamaCppsClientsAskForIt) {
  const auto list = [this](std::string_view fields) {
    return json::parse(tokens("{\"content\":\"a</s>\"" + std::string(fields) + "}")).at("tokens");
  };
  EXPECT_EQ(list(""), json::parse("[286,2]"));
  EXPECT_EQ(list(R"(,"add_special":true)"), json::parse("[1,286,2]"));
  EXPECT_EQ(list(R"(,"parse_special":false)").as_array().size(), 5U);
  EXPECT_EQ(list(R"(,"with_pieces":true)"), json::parse(R"([{"id":286,"piece":" a"},
                                                           {"id":2,"piece":"</s>"}])"));
  const json::value bytes = json::parse(tokens(R"({"content":"\u00e9","with_pieces":true})"));
  EXPECT_EQ(bytes.at("tokens").as_array().back(), json::parse(R"({"id":172,"piece":[169]})"));
}

TEST_F(TextApiTest, TokensBecomeText) {
  EXPECT_EQ(texts(R"({"tokens":[286,287]})"), R"({"prompt":"aab","content":"aab"})");
  EXPECT_EQ(texts(R"({"tokens":[]})"), R"({"prompt":"","content":""})");
  EXPECT_EQ(texts(R"({"tokens":[258]})"), "{\"prompt\":\"\uFFFD\",\"content\":\"\uFFFD\"}")
      << "half a character";
  EXPECT_EQ(texts("{}"), "tokens missing_required_parameter");
  EXPECT_EQ(texts(R"({"tokens":"a"})"), "tokens invalid_type");
  EXPECT_EQ(texts(R"({"tokens":["a"]})"), "tokens[0] invalid_type");
  EXPECT_EQ(texts(R"({"tokens":[-1]})"), "tokens invalid_value");
  EXPECT_EQ(texts(R"({"tokens":[288]})"), "tokens invalid_value");
}

TEST_F(TextApiTest, TokensBecomeTextUpToABound) {
  const auto list = [](std::string_view id, std::size_t count) {
    std::string ids(id);
    for (std::size_t i = 1; i < count; ++i) ids.append(",").append(id);
    return "{\"tokens\":[" + ids + "]}";
  };
  const std::string text = "\"" + std::string(100, 'a') + "\"";
  EXPECT_EQ(texts(list("260", 100)), "{\"prompt\":" + text + ",\"content\":" + text + "}");
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  const std::string_view unknown = "0";  // "<unk>"
  EXPECT_EQ(texts(list(unknown, kMostBytes / 5 + 1)), "tokens invalid_value");
}

TEST_F(TextApiTest, TheTokenizerIsDescribed) {
  const json::value info = json::parse(tokenizer_info_body(card));
  EXPECT_EQ(info.at("vocab_size"), kTinyVocabulary);
  EXPECT_EQ(info.at("model_max_length"), 64);
  EXPECT_EQ(info.at("bos_token"), "<s>");
  EXPECT_EQ(info.at("eos_token"), "</s>");
  EXPECT_TRUE(info.at("pad_token").is_null());
  EXPECT_EQ(info.at("chat_template"), json::value(model->tokenizer.chat_template()));
  EXPECT_EQ(info.at("added_tokens_decoder").at("2").at("content"), "</s>");
  EXPECT_FALSE(info.at("added_tokens_decoder").as_object().contains("260"));
}

TEST_F(TextApiTest, TheOnlyModelIsTheCards) {
  const json::value models = json::parse(models_body({.models = {card}}));
  EXPECT_EQ(models.at("object"), "list");
  ASSERT_EQ(models.at("data").as_array().size(), 1U);
  EXPECT_EQ(json::serialize(models.at("data").at(0)), model_body(card));
  EXPECT_EQ(models.at("first_id"), "tiny");
  EXPECT_EQ(models.at("has_more"), false);
  model->facts = {.parameters = 12, .stored_bytes = 24, .hidden = 6};
  EXPECT_EQ(model_body(card),
            R"({"id":"tiny","object":"model","created":7,"owned_by":"weft","root":"tiny",)"
            R"("parent":null,"max_model_len":64,"context_length":64,"meta":{"n_vocab":288,)"
            R"("n_ctx":64,"n_embd":6,"n_params":12,"size":24},"type":"model",)"
            R"("display_name":"tiny","created_at":"1970-01-01T00:00:07Z","lifecycle":"active",)"
            R"("max_input_tokens":64,"max_tokens":64,"status":{"value":"loaded"}})");
}

TEST_F(TextApiTest, ListsModelsThatAreNotLoadedWithWhereTheyAre) {
  const ModelList list{.models = {card,
                                  {.name = "large",
                                   .aliases = {"big"},
                                   .state = ModelState::kFailed,
                                   .failure = {EngineErrc::kModelFailed, "it needs 9 GB"}}}};
  const json::value models = json::parse(models_body(list)).at("data");
  ASSERT_EQ(models.as_array().size(), 2U);
  const json::value& failed = models.at(1);
  EXPECT_EQ(failed.at("id"), "large");
  EXPECT_EQ(failed.at("status").at("value"), "failed");
  EXPECT_EQ(failed.at("status").at("reason").as_string(),
            boost::system::error_code(EngineErrc::kModelFailed).message())
      << "not where its files are";
  EXPECT_EQ(failed.at("aliases").at(0), "big");
  EXPECT_FALSE(failed.as_object().contains("max_model_len"));
}

}  // namespace
}  // namespace weft::test
