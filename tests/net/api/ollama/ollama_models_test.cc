#include "weft/net/api/ollama/ollama_models.h"

#include <gtest/gtest.h>

#include <string>

#include "weft/tests/net/api/api_fixture.h"
#include "weft/tests/net/api/tool_model.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class OllamaModelsTest : public ApiFixture {
 public:
  void SetUp() override {
    model->facts = {.family = "qwen2",
                    .format = "gguf",
                    .weight_type = "q4_k",
                    .parameters = 134'515'008,
                    .stored_bytes = 12'345,
                    .hidden = 576,
                    .layers = 30};
  }
  json::value show(const std::string& text) {
    const auto shown = ollama_show(body(text), card);
    return shown ? json::parse(*shown) : json::value(verdict(shown));
  }
};

TEST_F(OllamaModelsTest, ANameWithoutATagIsTheLatest) {
  const auto name = [this](const std::string& own) {
    card.name = own;
    return ollama_name(card);
  };
  EXPECT_EQ(name("tiny"), "tiny:latest");
  EXPECT_EQ(name("tiny:1b"), "tiny:1b");
  EXPECT_EQ(name("host:80/tiny"), "host:80/tiny:latest");
  EXPECT_EQ(name("org/tiny:1b"), "org/tiny:1b");
}

TEST_F(OllamaModelsTest, ListsTheServedModel) {
  const json::value tags = json::parse(ollama_tags({.models = {card}})).at("models");
  ASSERT_EQ(tags.as_array().size(), 1U);
  const json::value& entry = tags.at(0);
  EXPECT_EQ(entry.at("name"), "tiny:latest");
  EXPECT_EQ(entry.at("model"), "tiny:latest");
  EXPECT_EQ(entry.at("modified_at"), "1970-01-01T00:00:07Z");
  EXPECT_EQ(entry.at("size"), 12'345);
  EXPECT_EQ(entry.at("details"),
            json::parse(R"({"parent_model":"","format":"gguf","family":"qwen2",)"
                        R"("families":["qwen2"],"parameter_size":"134.52M",)"
                        R"("quantization_level":"Q4_K"})"));
  EXPECT_EQ(entry.at("digest").as_string().size(), 64U);
  const json::value running = json::parse(ollama_running({.models = {card}})).at("models").at(0);
  EXPECT_EQ(running.at("digest"), entry.at("digest"));
  EXPECT_EQ(running.at("context_length"), 64);
}

TEST_F(OllamaModelsTest, AnotherModelHasAnotherDigest) {
  const auto digest = [this] {
    return json::parse(ollama_tags({.models = {card}})).at("models").at(0).at("digest");
  };
  const json::value first = digest();
  EXPECT_EQ(digest(), first);
  model->facts.parameters += 1;
  EXPECT_NE(digest(), first);
}

TEST_F(OllamaModelsTest, SizesAreWrittenAsOllamaDoes) {
  const auto size = [this](std::int64_t parameters) {
    model->facts.parameters = parameters;
    return std::string(json::parse(ollama_tags({.models = {card}}))
                           .at("models")
                           .at(0)
                           .at("details")
                           .at("parameter_size")
                           .as_string());
  };
  EXPECT_EQ(size(7'615'616'512), "7.6B");
  EXPECT_EQ(size(1'000'000'000'000), "1000.0B");
  EXPECT_EQ(size(4'985'088), "4.99M");
  EXPECT_EQ(size(12'340), "12.34K");
  EXPECT_EQ(size(999), "999");
  EXPECT_EQ(size(0), "0");
}

TEST_F(OllamaModelsTest, ShowsWhatIsKnown) {
  model->defaults.sampling.temperature = 0.7F;
  model->defaults.sampling.penalties.repetition = 1.1F;
  const json::value shown = show(R"({"model":"tiny"})");
  EXPECT_EQ(shown.at("template").as_string(), model->tokenizer.chat_template());
  EXPECT_EQ(shown.at("parameters"), "temperature 0.7\nrepeat_penalty 1.1");
  EXPECT_EQ(shown.at("capabilities"), json::array{"completion"});
  EXPECT_EQ(shown.at("model_info"),
            json::parse(R"({"general.architecture":"qwen2","qwen2.context_length":64,)"
                        R"("qwen2.vocab_size":288,"general.parameter_count":134515008,)"
                        R"("qwen2.embedding_length":576,"qwen2.block_count":30})"));
  EXPECT_EQ(show(R"({"name":"tiny:latest","verbose":true})"), shown);
}

TEST_F(OllamaModelsTest, ShowsWhatTheModelCanDo) {
  const auto capabilities = [this] {
    return json::serialize(show(R"({"model":"tiny"})").at("capabilities"));
  };
  EXPECT_EQ(capabilities(), R"(["completion"])");
  *model = tool_model();
  EXPECT_EQ(capabilities(), R"(["completion","tools","thinking"])");
}

TEST_F(OllamaModelsTest, ShowsNoOther) {
  EXPECT_EQ(show(R"({"model":"x"})"), "404 model model_not_found");
  EXPECT_EQ(show(R"({"name":"x"})"), "404 model model_not_found");
  EXPECT_EQ(show(R"({"model":"tiny","x":1})"), "x unknown_parameter");
  EXPECT_EQ(show(R"({"model":5})"), "model invalid_type");
  EXPECT_EQ(ollama_show(body(R"({"model":"x"})"), card).error().message, "model \"x\" not found");
}

TEST_F(OllamaModelsTest, ClientsFindAVersionThatTheyCanCompare) {
  EXPECT_EQ(json::parse(ollama_version()).at("version").as_string(), kOllamaVersion);
}

}  // namespace
}  // namespace weft::test
