#include "weft/net/api/llama_api.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/tests/actors/adapters/fake_adapters.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class LlamaApiTest : public ApiFixture {};

TEST_F(LlamaApiTest, TellsOfAModelByLlamaCppsNames) {
  model->defaults.sampling.temperature = 0.5F;
  model->defaults.sampling.top_k = 7;
  const json::value props = json::parse(llama_props(card, 3));
  EXPECT_EQ(props.at("total_slots"), 3);
  const json::value& settings = props.at("default_generation_settings");
  EXPECT_EQ(settings.at("n_ctx"), 64);
  EXPECT_EQ(settings.at("params").at("temperature"), 0.5);
  EXPECT_EQ(settings.at("params").at("top_k"), 7);
  EXPECT_EQ(settings.at("params").at("n_predict"), -1);
  EXPECT_EQ(props.at("model_path"), "tiny") << "files are not named";
  EXPECT_EQ(props.at("chat_template"), json::value(model->tokenizer.chat_template()));
  EXPECT_EQ(props.at("bos_token"), "<s>");
}

TEST_F(LlamaApiTest, TellsWhichSlotsAreBusy) {
  EXPECT_EQ(json::parse(llama_slots(card, {false, true})), json::parse(R"([
              {"id": 0, "n_ctx": 64, "speculative": false, "is_processing": false},
              {"id": 1, "n_ctx": 64, "speculative": false, "is_processing": true}])"));
  EXPECT_EQ(llama_slots(card, {}), "[]");
}

class LlamaAdaptersTest : public ApiFixture {
 public:
  LlamaAdaptersTest() {
    for (const char* name : {"a", "b", "c"}) files.folder.write(name, name);
    model->adapters = std::make_shared<AdapterRegistry>(files.options());
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_TRUE(model->adapters->load(AdapterChange(name)));
    }
  }
  /// Returns the adapter that a request with this `lora` gets, or the field and code of its error.
  std::string chosen(const std::string& lora) {
    const BodyFields fields(body(R"({"lora":)" + lora + "}"));
    Request request;
    take_lora(fields, card, request);
    const auto& error = fields.finish();
    return error ? error->param + " " + error->code : request.adapter;
  }

  FakeAdapters files;
};

TEST_F(LlamaAdaptersTest, AnIdMeansOneNameAlsoOnceAnotherIsRemoved) {
  EXPECT_EQ(json::parse(llama_adapters(card)),
            json::parse(R"([{"id": 0, "path": "a", "scale": 0}, {"id": 1, "path": "b", "scale": 0},
                            {"id": 2, "path": "c", "scale": 0}])"));
  EXPECT_EQ(chosen(R"([{"id": 2, "scale": 1}])"), "c");
  ASSERT_TRUE(model->adapters->unload("a"));
  EXPECT_EQ(
      json::parse(llama_adapters(card)),
      json::parse(R"([{"id": 1, "path": "b", "scale": 0}, {"id": 2, "path": "c", "scale": 0}])"));
  EXPECT_EQ(chosen(R"([{"id": 2, "scale": 1}])"), "c");
  EXPECT_EQ(chosen(R"([{"id": 0, "scale": 1}])"), "lora[0].id invalid_value");
  EXPECT_EQ(chosen(R"([{"id": 3, "scale": 1}])"), "lora[0].id invalid_value");
  EXPECT_EQ(chosen(R"([{"id": -1, "scale": 0}])"), "lora[0].id invalid_value");
  EXPECT_EQ(chosen(R"([{"scale": 1}])"), "lora[0].id missing_required_parameter");
  EXPECT_EQ(chosen(R"([{"id": 1, "scale": 0.5}])"), "lora[0].scale unsupported");
  EXPECT_EQ(chosen(R"([{"id": 1}, {"id": 2}])"), "lora unsupported");
}

TEST_F(LlamaAdaptersTest, SetsTheAdapterOfRequestsThatNameNone) {
  EXPECT_EQ(verdict(choose_llama_adapter(R"([{"id": 1, "scale": 1}])", card)), "200");
  EXPECT_EQ(model->adapters->standard(), "b");
  EXPECT_EQ(verdict(choose_llama_adapter(R"([{"id": 7, "scale": 1}])", card)),
            "lora[0].id invalid_value");
  EXPECT_EQ(model->adapters->standard(), "b");
  EXPECT_EQ(verdict(choose_llama_adapter("[]", card)), "200");
  EXPECT_EQ(model->adapters->standard(), "");
}

}  // namespace
}  // namespace weft::test
